/** Which part of a document is asked for. */
import type { SourceTarget } from "../state";

export type Window = { page: number | null } | { start: number; end: number };

export function windowOf(source: Pick<SourceTarget, "page" | "start" | "end">): Window {
  if (source.page !== null) return { page: source.page };
  return { start: source.start, end: Math.max(source.end, source.start + 1) };
}
