/** What the Source tab can be asked to show besides a citation. */
import type { SourceTarget } from "../state";
import type { Doc } from "../types";

/** A document from its beginning, with nothing marked. */
export function documentTarget(doc: Pick<Doc, "id" | "title" | "pages">): SourceTarget {
  return {
    run: null,
    opened: true,
    document: doc.id,
    title: doc.title,
    page: doc.pages ? 1 : null,
    start: 0,
    end: 0,
    quote: null,
    number: null,
    origin: "library",
    url: null,
    text: null,
  };
}

/** Two targets with the same key are the same place. */
export function targetKey(target: SourceTarget): string {
  const { run, opened, document, start, end, number } = target;
  return [run, opened, document, start, end, number].join(" ");
}

/** Only addresses of the web become links: a stored one could be anything. */
export function webAddress(url: string | null): string | null {
  return url && /^https?:\/\//i.test(url) ? url : null;
}
