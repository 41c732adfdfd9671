import { Fragment, type ReactNode } from "react";
import type { Answer, Claim } from "../types";
import { Chips } from "./Chips";
import { asFigure, claimState, reckoned } from "./telling";
import { type Block, blocksOf, type Glued, glued, type Piece, placeOf } from "./text";

/** The answer in its own words: each claim with its chips, each weak one marked and named. */
export function AnswerText({ answer }: { answer: Answer }) {
  const blocks = blocksOf(answer).filter((block) => !saysTheChoice(block, answer));
  const asItems = answer.asks_back !== null; // readings are alternatives, not one text
  return (
    <div className="text" data-testid="answer-text">
      <Lead answer={answer} />
      {grouped(blocks).map((group, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the text of an answer does not change
        <Group key={place} blocks={group} answer={answer} asItems={asItems} />
      ))}
      {answer.claims
        .map((claim) => reckoned(claim))
        .filter(Boolean)
        .map((line) => (
          <p key={line} className="reckoned">
            {line}
          </p>
        ))}
    </div>
  );
}

/** The line that names the chosen option: the verdicts under the text say it too. */
function saysTheChoice(block: Block, { choice }: Answer): boolean {
  const [only, ...others] = block.pieces;
  if (!choice?.letter || others.length > 0 || only?.kind !== "words") return false;
  return only.text.trim() === `Answer: (${choice.letter}) ${choice.text}`;
}

/** A computed number in large type; else the short answer by itself, where no sentence holds it. */
function Lead({ answer }: { answer: Answer }) {
  const { short, claims, choice, analysis } = answer;
  const figure = analysis && short ? asFigure(short) : null;
  if (figure) return <p className="lead-figure">{figure}</p>;
  if (!short || choice || analysis?.table) return null;
  const holds = ({ text }: Claim) => placeOf(short, text) !== null || text.includes(short);
  return claims.some(holds) ? null : <p className="short">{short}</p>;
}

/** Items that follow each other make one list. */
function grouped(blocks: Block[]): Block[][] {
  const groups: Block[][] = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    if (block.kind === "item" && last?.[0]?.kind === "item") last.push(block);
    else groups.push([block]);
  }
  return groups;
}

function Group({ blocks, answer, asItems }: { blocks: Block[]; answer: Answer; asItems: boolean }) {
  const first = blocks[0];
  if (!first) return null;
  if (first.kind === "item") {
    return (
      <ul className="items">
        {blocks.map((block, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the text of an answer does not change
          <li key={place}>
            <Pieces pieces={block.pieces} answer={answer} />
          </li>
        ))}
      </ul>
    );
  }
  if (asItems && first.pieces.some((piece) => piece.kind === "claim")) {
    return <Readings pieces={first.pieces} answer={answer} />;
  }
  const pieces = <Pieces pieces={first.pieces} answer={answer} />;
  if (first.kind === "heading") return <h2>{pieces}</h2>;
  if (first.kind === "paragraph" || answer.method === "catalogue") return <p>{pieces}</p>;
  return <p className={answer.status === "partial" ? "note" : "remark"}>{pieces}</p>;
}

function Readings({ pieces, answer }: { pieces: Piece[]; answer: Answer }) {
  return (
    <ul className="items">
      {pieces
        .filter((piece) => piece.kind === "claim")
        .map((piece) => (
          <li key={piece.index}>
            <Sentence claim={piece.claim} answer={answer} />
          </li>
        ))}
    </ul>
  );
}

function Pieces({ pieces, answer }: { pieces: Piece[]; answer: Answer }) {
  return pieces.map((piece, place) =>
    piece.kind === "words" ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the text of an answer does not change
      <Fragment key={place}>{piece.text}</Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the text of an answer does not change
      <Fragment key={place}>
        <Sentence claim={piece.claim} answer={answer} />{" "}
      </Fragment>
    ),
  );
}

function Sentence({ claim, answer }: { claim: Claim; answer: Answer }) {
  const parts = glued(claim.text);
  const weak = claimState(claim) === "weak";
  const mark = (text: ReactNode) => (weak ? <span className="unsure">{text}</span> : text);
  const [head, word] = emphasised(parts, answer);
  return (
    <span className="claim" data-claim={claimState(claim)}>
      {parts.head && mark(head)}
      <span className="glue">
        {mark(word)}
        <Chips claim={claim} answer={answer} />
        {parts.sign}
      </span>
      {weak && <span className="unsure-word">not verified</span>}
    </span>
  );
}

/** The short answer in bold, also where the chip's glue cuts through it. */
function emphasised({ head, word }: Glued, answer: Answer): [ReactNode, ReactNode] {
  const place = placeOf(answer.short, `${head}${word}`);
  if (!place) return [head, word];
  const [start, end] = place;
  const cut = head.length;
  const isList = (answer.analysis?.table?.rows.length ?? 0) > FEW_VALUES;
  const marked = isList ? "values" : null;
  return [
    setOff(head, Math.min(start, cut), Math.min(end, cut), marked),
    setOff(word, Math.max(0, start - cut), Math.max(0, end - cut), marked),
  ];
}

/** More than that are a list, which the table shows better. */
const FEW_VALUES = 3;

function setOff(text: string, start: number, end: number, quietly: string | null): ReactNode {
  if (start >= end) return text;
  const words = text.slice(start, end);
  return (
    <>
      {text.slice(0, start)}
      {quietly ? <span className={quietly}>{words}</span> : <b>{words}</b>}
      {text.slice(end)}
    </>
  );
}
