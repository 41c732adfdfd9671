import { useState } from "react";
import { openCitation, openPassage, openTable } from "../actions";
import { count, pageOf } from "../parts/words";
import { isLive, type RunView } from "../run";
import type { Answer, SeenPassage } from "../types";
import { shortened, usedTables } from "./telling";

interface Card {
  key: string;
  title: string;
  under: string;
  open: () => void;
  citation?: number;
}

const FEW = 3;

/** What the answer rests on: filled in as it is found, on room that is kept for it. */
export function SourceCards({ run }: { run: RunView }) {
  const [all, setAll] = useState(false);
  const cards = run.answer ? cardsOfAnswer(run.answer) : cardsOfPassages(run.passages, run.id);
  const live = isLive(run);
  if (cards.length === 0 && !live) return null;
  const shown = all ? cards : cards.slice(0, FEW);
  return (
    <section
      className="sources-part"
      aria-label={`${run.answer ? "Sources" : "Found so far"}: ${run.question}`}
    >
      <ul className="sources">
        {shown.map((card) => (
          <li key={card.key}>
            <button type="button" className="card" data-card={card.citation} onClick={card.open}>
              <b>{card.title}</b>
              <span>{card.under}</span>
            </button>
          </li>
        ))}
        {live &&
          Array.from({ length: FEW - shown.length }, (_, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the empty places are alike
            <li key={`empty ${place}`} className="card empty" aria-hidden="true" />
          ))}
      </ul>
      {cards.length > FEW && !live && (
        <button type="button" className="link more-sources" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show ${count(cards.length - FEW, "more source")}`}
        </button>
      )}
    </section>
  );
}

function cardsOfAnswer(answer: Answer): Card[] {
  const cited = answer.citations.map((citation) => ({
    key: `citation ${citation.number}`,
    title: `${citation.number} · ${citation.title}`,
    under: [pageOf(citation.page), shortened(citation.quote, 60)].filter(Boolean).join(" · "),
    open: () => openCitation(answer.run, citation.number),
    citation: citation.number,
  }));
  const tables = (answer.analysis ? usedTables(answer.analysis) : []).map((input) => ({
    key: `table ${input.id}`,
    title: input.title,
    under: `table · ${count(input.rows, "row")}`,
    open: () => openTable(input.id, answer.run),
  }));
  return [...cited, ...tables];
}

function cardsOfPassages(passages: SeenPassage[], run: string | null): Card[] {
  const places = new Map<string, Card>();
  for (const passage of passages.filter((one) => one.kept)) {
    const key = `${passage.document} ${passage.page}`;
    if (places.has(key)) continue;
    const under = [pageOf(passage.page), "found"].filter(Boolean).join(" · ");
    places.set(key, { key, title: passage.title, under, open: () => openPassage(passage, run) });
  }
  return [...places.values()];
}
