/** The lines of the library: its documents, and the files that are being added to it. */
import { isSending } from "../state";
import type { Doc, Job, JobFile } from "../types";

export type RowState = "ready" | "waiting" | "indexing" | "failed";

export interface Row {
  key: string;
  title: string;
  kind: string;
  state: RowState;
  /** 0 to 1, of a file that is being indexed. */
  share: number;
  /** Why it failed, in words. */
  reason: string | null;
  doc: Doc | null;
  /** The job that is adding it, or that failed to; null while it is still being sent. */
  job: string | null;
}

/** One row a name: a row that is open stays open when what was sent is taken up by a job. */
function keyOfFile(file: Pick<JobFile, "name">): string {
  return `file ${file.name}`;
}

export function failedFiles(job: Job): JobFile[] {
  return job.files.filter((file) => file.status === "failed");
}

export function isActive(job: Job): boolean {
  return job.status === "queued" || job.status === "running";
}

/** Files that are being added come first, then what failed, then documents by title. */
export function rowsOf(documents: readonly Doc[], jobs: readonly Job[]): Row[] {
  const files = jobs.flatMap((job) => job.files.map((file) => ({ job, file })));
  const known = documents.map((doc) => rowOfDocument(doc, files));
  const added = files
    .filter(({ job, file }) => isShown(job, file) && !documents.some((doc) => isSame(doc, file)))
    .map(({ job, file }) => rowOfFile(job, file));
  return [...latestOfName(added), ...known].sort(byStateAndTitle);
}

/** A file of a job that goes on, or one that was turned away and lies nowhere in the library. */
function isShown(job: Job, file: JobFile): boolean {
  return file.status === "failed" || isActive(job);
}

function isPending(file: JobFile): boolean {
  return file.status === "waiting" || file.status === "indexing";
}

function isSame(doc: Doc, file: JobFile): boolean {
  return file.document ? file.document === doc.id : file.name === doc.name;
}

function rowOfDocument(doc: Doc, files: readonly { job: Job; file: JobFile }[]): Row {
  const again = files.find(
    ({ job, file }) => isActive(job) && isPending(file) && isSame(doc, file),
  );
  return {
    key: doc.id,
    title: doc.title || doc.name,
    kind: doc.kind,
    state: again ? stateOfFile(again.file) : doc.status,
    share: again?.file.share ?? 0,
    reason: again ? null : doc.reason,
    doc,
    job: again?.job.id ?? null,
  };
}

function rowOfFile(job: Job, file: JobFile): Row {
  return {
    key: keyOfFile(file),
    title: file.name,
    kind: endingOf(file.name),
    state: stateOfFile(file),
    share: file.share,
    reason: file.reason,
    doc: null,
    job: isSending(job) ? null : job.id,
  };
}

function stateOfFile(file: JobFile): RowState {
  if (file.status === "unchanged") return "ready";
  return file.status;
}

function endingOf(name: string): string {
  if (/^https?:/.test(name)) return "web";
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : "file";
}

function latestOfName(rows: readonly Row[]): Row[] {
  return rows.filter((row, at) => rows.findLastIndex(({ title }) => title === row.title) === at);
}

const ORDER: Record<RowState, number> = { indexing: 0, waiting: 0, failed: 1, ready: 2 };

function byStateAndTitle(one: Row, other: Row): number {
  const byTitle = { sensitivity: "base", numeric: true } as const;
  return (
    ORDER[one.state] - ORDER[other.state] || one.title.localeCompare(other.title, "en", byTitle)
  );
}

/** The rows whose title, file name or kind holds every word that was typed. */
export function filterRows(rows: readonly Row[], typed: string): Row[] {
  const words = plain(typed).split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    const text = plain(`${row.title} ${row.doc?.name ?? ""} ${row.kind}`);
    return words.every((word) => text.includes(word));
  });
}

function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** The jobs that ended with files they could not take in: those known, and those that are new. */
export function withTurnedAway(known: readonly Job[], jobs: readonly Job[]): readonly Job[] {
  const fresh = jobs.filter(
    (job) =>
      !isActive(job) && failedFiles(job).length > 0 && !known.some(({ id }) => id === job.id),
  );
  return fresh.length > 0 ? [...known, ...fresh] : known;
}

/** The same without the file of a row, which the person has seen. */
export function withoutRow(known: readonly Job[], { key, doc }: Row): readonly Job[] {
  const isSeen = (file: JobFile) => (doc ? isSame(doc, file) : keyOfFile(file) === key);
  return known
    .map((job) => ({ ...job, files: job.files.filter((file) => !isSeen(file)) }))
    .filter((job) => job.files.length > 0);
}
