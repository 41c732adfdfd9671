/** What the Source tab can be asked to show besides a citation: a document to read, or a table. */
import type { SourceTarget } from "../state";
import type { Doc } from "../types";

export interface TableTarget extends SourceTarget {
  table: string;
}

export function isTableTarget(target: SourceTarget): target is TableTarget {
  return "table" in target;
}

export function documentTarget(doc: Pick<Doc, "id" | "title" | "pages">): SourceTarget {
  return {
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

export function tableTarget(table: { id: string; title: string }, document = ""): TableTarget {
  const { id, title } = table;
  return { ...documentTarget({ id: document, title, pages: null }), table: id };
}

/** Two targets with the same key are the same place. */
export function targetKey(target: SourceTarget): string {
  const what = isTableTarget(target) ? `table ${target.table}` : target.document;
  return [what, target.start, target.end, target.number].join(" ");
}

/** Only addresses of the web become links: a stored one could be anything. */
export function webAddress(url: string | null): string | null {
  return url && /^https?:\/\//i.test(url) ? url : null;
}
