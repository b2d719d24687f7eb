"""日本語。"""

from __future__ import annotations

from typing import Final

from kvtui.tui.view.words import Say

CAPTIONS: Final[dict[str, Say]] = {
    "start": Say(
        ("どのレーンもまだ空です。同じメモリの渡し方の違いを見てください。",),
        line="どのレーンもまだ空です。メモリの量は同じです。",
    ),
    "idle": Say(
        ("実行中も待ちもありません。次のリクエストはまだ来ていません。",),
        line="次のリクエストはまだ来ていません。",
    ),
    "turn": Say(
        ("実行中のものはありません。待っているリクエストは次のステップで始まります。",),
        line="待っているリクエストは次のステップで始まります。",
    ),
    "not yet": Say(("{name} は {at} に分岐します。",), line="{name} は {at} に分岐します。"),
    "both keep up": Say(
        ("両方とも間に合っています。実行中は {run0} 件と {run1} 件、待ちはありません。",),
        line="両方とも間に合っています。実行中 {run0} 件と {run1} 件。",
    ),
    "all keep up": Say(
        (
            "すべて間に合っています。待ちはありません。"
            "{name0} は {run0} 件、{name1} は {run1} 件を実行中です。",
        ),
        line="すべて間に合っています。待ちはありません。",
    ),
    "alone keeps up": Say(
        ("{name0} は間に合っています。{run0} 件を実行中、待ちはありません。",),
        line="{name0} は {run0} 件を実行中、待ちはありません。",
    ),
    "full, region": Say(
        (
            "{name} は {run} 件で満杯です。"
            "1 件ごとに {locked} スロットを押さえ、埋まったのは平均 {filled} です。",
        ),
        ("{name} は {run} 件で満杯。各 {locked} スロットを押さえ、埋まったのは {filled}。",),
        "{run} 件で満杯。確保 {locked}、使用 {filled}。",
    ),
    "room, region": Say(
        (
            "{name} は {run} 件を実行中です。"
            "1 件ごとに {locked} スロットを押さえ、埋まったのは平均 {filled} です。",
        ),
        ("{name} は {run} 件を実行中。各 {locked} スロットを押さえ、埋まったのは {filled}。",),
        "{run} 件を実行中。確保 {locked}、使用 {filled}。",
    ),
    "full, blocks": Say(
        (
            "{name} は {block} スロットずつ渡します。同じメモリに {run} 件入り、"
            "ブロック末尾の空きは {ends} です。",
        ),
        ("{name} は {block} スロットずつ渡し、同じメモリに {run} 件入ります。",),
        "{block} スロットずつ渡し、{run} 件入ります。",
    ),
    "room, blocks": Say(
        ("{name} は {block} スロットずつ渡し、{run} 件を実行中です。ブロック末尾の空きは {ends} です。",),
        ("{name} は {block} スロットずつ渡し、{run} 件を実行中です。",),
        "{block} スロットずつ渡し、{run} 件を実行中。",
    ),
    "last": Say(
        ("{name} は全員を受け入れました。実行中はあと {run} 件です。",),
        line="{name}: 実行中はあと {run} 件です。",
    ),
    "done": Say(("{name} は {end} にすべて終えました。",)),
    "region against blocks": Say(
        (), line="確保 {locked}、使用 {filled}。{run0} 件で満杯、{name1} は {run1} 件。"
    ),
    "cache off": Say(
        ("プレフィックスキャッシュなしでは {run} 件です。同じ書き出しをそれぞれが別に持っています。",),
        ("キャッシュなしでは {run} 件。同じ書き出しを別々に持ちます。",),
        "キャッシュなし: {run} 件。",
    ),
    "cache off, too": Say(
        ("なしでは {run} 件です。同じ書き出しをそれぞれが別に持っています。",),
        line="キャッシュなし: {run} 件。",
    ),
    "cache on": Say(
        (
            "プレフィックスキャッシュありでは {run} 件です。"
            "{shared} ブロックを共有し、複製 {saved} 個を省いています。",
        ),
        ("キャッシュありでは {run} 件。{shared} ブロックの共有で複製 {saved} 個を省きます。",),
        "キャッシュあり: {run} 件。",
    ),
    "cache on, too": Say(
        ("ありでは {run} 件です。{shared} ブロックを共有し、複製 {saved} 個を省いています。",),
        line="キャッシュあり: {run} 件。",
    ),
    "counts": Say((), line="{name0} は {run0} 件、{name1} は {run1} 件。"),
    "no gain": Say(
        ("この通信量ではページ方式の利点は小さいです。{base} は {run0} 件、{name1} は {run1} 件。",),
        line="ページ方式の利点は小さいです。{run0} 件と {run1} 件。",
    ),
    "preempted": Say(
        (
            "空きブロックがなくなり、{victim} は {given} ブロックを返して {taker} に譲りました。"
            "後で計算し直します。",
        ),
        ("{victim} は {given} ブロックを返し {taker} に譲りました。後で計算し直します。",),
        "{victim} は {given} ブロックを {taker} に譲りました。",
    ),
    "preempted itself": Say(
        (
            "{victim} が続けるための空きブロックがなく、自分の {given} ブロックを返して待ちます。"
            "後で計算し直します。",
        ),
        ("{victim} は空きがなく {given} ブロックを返して待ちます。後で計算し直します。",),
        "{victim} は空きがなく {given} ブロックを返しました。",
    ),
    "one done": Say(
        ("{done} は {end} にすべて終えました。{late} にはまだ {left} 件残っています。",),
        line="{done} は {end} に完了。{late} は残り {left} 件。",
    ),
    "one done, one left": Say(
        ("{done} は {end} にすべて終えました。{late} にはまだ {left} 件残っています。",),
        line="{done} は {end} に完了。{late} は残り {left} 件。",
    ),
    "end": Say(
        (
            "{fast} は {end1}、{slow} は {end0} で完了。同じ GPU で {times} 倍の速さです。",
            "S でまとめを表示します。",
        ),
        line="{fast} は {end1}、{slow} は {end0}。S: まとめ",
    ),
    "end, level": Say(
        ("{fast} は {end1}、{slow} は {end0} で完了。目立つ差はありません。", "S でまとめを表示します。"),
        line="{fast} は {end1}、{slow} は {end0}。S: まとめ",
    ),
    "end, alone": Say(
        ("{fast} は {end1} で完了しました。", "S でまとめを表示します。"),
        line="{fast} は {end1} で完了。S: まとめ",
    ),
    "end, not whole": Say(("{verdict}", "S でまとめを表示します。"), line="{verdict}"),
    "plain": Say(("{name}: 実行中 {run}、待ち {wait}、完了 {done}。",)),
    "plain, preempted": Say(("{name}: 実行中 {run}、待ち {wait}、完了 {done}、中断 {preempted}。",)),
    "nothing ran": Say(
        ("入るリクエストがありません。どれもプール全体より多くのメモリを必要とします。",),
        line="このプールに入るリクエストはありません。",
    ),
}
