/** An answer's text as blocks of claims and words, with each claim's marks taken out of it.

In the text a claim is followed by the marks of its citations, `[1][2]`; research puts lines
`### Step 2: ...` before claims, an outline makes items of them, and a remark may come last.
*/

import type { Answer, Claim } from "../types";

export type Piece =
  | { kind: "claim"; index: number; claim: Claim }
  | { kind: "words"; text: string };
export interface Block {
  kind: "paragraph" | "heading" | "item" | "remark";
  pieces: Piece[];
}

const MARKS = /^ ?(?:\[\d+\])*(?: \(not supported by the evidence\))?/;

/** Claims that do not stand in the text as they should are listed after it: none is lost. */
export function blocksOf(answer: Pick<Answer, "text" | "claims">): Block[] {
  const { pieces, lost } = piecesOf(answer);
  const blocks = linesOf(pieces).flatMap(blockOf);
  return [...blocks, ...lost.map((piece): Block => ({ kind: "item", pieces: [piece] }))];
}

function piecesOf({ text, claims }: Pick<Answer, "text" | "claims">) {
  const pieces: Piece[] = [];
  const lost: Piece[] = [];
  let at = 0;
  claims.forEach((claim, index) => {
    const found = claim.text === "" ? -1 : text.indexOf(claim.text, at);
    const piece: Piece = { kind: "claim", index, claim };
    if (found < 0) {
      lost.push(piece);
      return;
    }
    pieces.push({ kind: "words", text: text.slice(at, found) }, piece);
    const after = found + claim.text.length;
    at = after + (MARKS.exec(text.slice(after))?.[0].length ?? 0);
  });
  pieces.push({ kind: "words", text: text.slice(at) });
  return { pieces, lost };
}

/** Words are cut where a line ends; a claim stays whole, whatever is in it. */
function linesOf(pieces: Piece[]): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const piece of pieces) {
    if (piece.kind === "claim") {
      lines.at(-1)?.push(piece);
      continue;
    }
    piece.text.split("\n").forEach((text, part) => {
      if (part > 0) lines.push([]);
      if (text !== "") lines.at(-1)?.push({ kind: "words", text });
    });
  }
  return lines;
}

function blockOf(line: Piece[]): Block[] {
  const first = line[0];
  const begins = first?.kind === "words" ? first.text : "";
  const whole = line
    .map((piece) => (piece.kind === "words" ? piece.text : piece.claim.text))
    .join("");
  if (whole.trim() === "") return [];
  const opening = /^\s*(#{1,6}|[-*]) /.exec(begins);
  const kind = opening ? (opening[1]?.startsWith("#") ? "heading" : "item") : plainKind(line);
  const rest = { kind: "words" as const, text: begins.slice(opening?.[0].length ?? 0) };
  const pieces = opening ? [rest, ...line.slice(1)] : line;
  return [{ kind, pieces: pieces.filter((piece) => piece.kind === "claim" || piece.text !== "") }];
}

/** What is said and is no claim is a remark: of what was cut, or not found out. */
const plainKind = (line: Piece[]): "paragraph" | "remark" =>
  line.every((piece) => piece.kind === "words") ? "remark" : "paragraph";

/** A sentence parted so that a chip can stand between its last word and the sign after it. */
export interface Glued {
  head: string;
  word: string;
  sign: string;
}

/** As much of the last word as must not be parted from its chip; a longer word may wrap before. */
const LONGEST_GLUED = 16;

export function glued(sentence: string): Glued {
  const trimmed = sentence.trimEnd();
  const sign = /[.,;:!?…]+["'”’»)\]]*$/u.exec(trimmed)?.[0] ?? "";
  const body = trimmed.slice(0, trimmed.length - sign.length);
  const letters = [...(/\S*$/u.exec(body)?.[0] ?? "")];
  const word = letters.slice(-LONGEST_GLUED).join("");
  return { head: body.slice(0, body.length - word.length), word, sign };
}

/** Where the short answer stands in a sentence, as a whole word; null where it does not. */
export function placeOf(short: string | null, sentence: string): [number, number] | null {
  if (!short || short.length === sentence.length) return null;
  const escaped = short.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const before = "(?<![\\p{L}\\p{N}]|\\p{N}[.,])"; // nor within a number: 5 is not in 9.5
  const found = new RegExp(`${before}${escaped}(?![\\p{L}\\p{N}]|[.,]\\p{N})`, "u").exec(sentence);
  return found ? [found.index, found.index + found[0].length] : null;
}

/** A draft that is still being written, with the marks of its citations apart. */
export function draftParts(draft: string): { text: string; mark: number | null }[] {
  return draft
    .split(/(\s?\[\d+\])/)
    .filter((part) => part !== "")
    .map((part) => {
      const mark = /^\s?\[(\d+)\]$/.exec(part)?.[1];
      return mark ? { text: "", mark: Number(mark) } : { text: part, mark: null };
    });
}
