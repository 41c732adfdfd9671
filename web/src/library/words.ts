/** Short words for what the library holds. */
import { count } from "../parts/words";
import type { Doc, RunSummary } from "../types";

const LABELS: Record<string, string> = {
  bzip2: "BZ2",
  docx: "DOC",
  gzip: "GZ",
  html: "HTM",
  image: "IMG",
  latex: "TEX",
  mail: "EML",
  markdown: "MD",
  notebook: "NB",
  parquet: "PQT",
  pptx: "PPT",
  sheet: "XLS",
  sqlite: "DB",
  subtitles: "SUB",
  text: "TXT",
  xlsx: "XLS",
};

/** Three letters or four that stand for a kind of file. */
export function kindLabel(kind: string): string {
  return LABELS[kind] ?? kind.slice(0, 4).toUpperCase();
}

const UNITS: [number, string][] = [
  [1e9, "bn"],
  [1e6, "m"],
  [1e3, "k"],
];

/** 48123 is 48k: enough to tell a small table from a large one. */
export function roughly(number: number): string {
  const unit = UNITS.find(([least]) => number >= least);
  if (!unit) return String(number);
  const scaled = number / unit[0];
  const digits = scaled < 10 ? Math.floor(scaled * 10) / 10 : Math.floor(scaled);
  return `${digits}${unit[1]}`;
}

const OF_TABLES = new Set(["csv", "sheet", "parquet", "sqlite", "jsonl"]);

/** Whether a document is first of all a table: a report that holds one is not. */
export function isTable(doc: Doc): boolean {
  return doc.tables.length > 0 && OF_TABLES.has(doc.kind);
}

/** How large a document is, in the unit that people use for its kind, in a few letters. */
export function sizeOf(doc: Doc): string {
  const [table, ...others] = doc.tables;
  if (table && isTable(doc)) {
    return others.length ? count(doc.tables.length, "table") : `${roughly(table.rows)} rows`;
  }
  return doc.pages ? `${doc.pages} p` : "";
}

/** The same in full, for a screen reader. */
export function sizeInWords(doc: Doc): string {
  const [table, ...others] = doc.tables;
  if (table && isTable(doc)) {
    return others.length ? count(doc.tables.length, "table") : count(table.rows, "row");
  }
  return doc.pages ? count(doc.pages, "page") : count(doc.passages, "passage");
}

const STATES: Partial<Record<RunSummary["status"], string>> = {
  queued: "waiting",
  running: "running",
  interrupted: "interrupted",
  abstained: "no answer found",
  refused: "refused",
  failed: "failed",
};

/** A word for a run that did not simply end in an answer. */
export function stateWord(run: Pick<RunSummary, "status" | "stop_reason">): string | null {
  if (run.stop_reason === "cancelled") return "stopped";
  return STATES[run.status] ?? null;
}
