/** Which part of a document is asked for. */
import type { SourceTarget } from "../state";
import type { SourceText } from "../types";

export type Window = { page: number } | { start: number; end: number };

/** A part of a document, and where its neighbours begin where it has no pages. */
export interface TextWindow extends SourceText {
  previous_start?: number | null;
  next_start?: number | null;
}

/** How much is asked for of a text without pages. */
const SHOWN = 4000;

/** A quote is asked for by its place: it may run over two pages, or lie deep in a long one. */
export function windowOf(source: Pick<SourceTarget, "page" | "start" | "end">): Window {
  if (source.end > source.start) return { start: source.start, end: source.end };
  return source.page === null ? { start: 0, end: SHOWN } : { page: source.page };
}

export interface Turn {
  label: string;
  where: Window;
}

/** The part before it, or null where it is the first. */
export function turnBack(read: TextWindow): Turn | null {
  if (read.previous_page) return { label: "Previous page", where: { page: read.previous_page } };
  const start = read.previous_start ?? null;
  return start === null ? null : { label: "Earlier", where: { start, end: read.start } };
}

/** The part after it, or null where it is the last. */
export function turnOn(read: TextWindow): Turn | null {
  if (read.next_page) return { label: "Next page", where: { page: read.next_page } };
  const start = read.next_start ?? null;
  return start === null ? null : { label: "Later", where: { start, end: start + SHOWN } };
}
