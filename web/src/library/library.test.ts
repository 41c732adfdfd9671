import { describe, expect, it } from "vitest";
import type { Doc, Job, JobFile } from "../types";
import { filterRows, type Row, rowsOf, withoutRow, withTurnedAway } from "./rows";
import { kindLabel, roughly, sizeInWords, sizeOf, stateWord } from "./words";

function doc(changes: Partial<Doc> = {}): Doc {
  return {
    id: "d1",
    title: "Harbour survey",
    name: "survey.pdf",
    kind: "pdf",
    pages: 84,
    passages: 120,
    characters: 9000,
    language: "en",
    author: null,
    date: null,
    added: null,
    status: "ready",
    reason: null,
    tables: [],
    has_original: true,
    ...changes,
  };
}

function file(changes: Partial<JobFile> = {}): JobFile {
  return { name: "new.pdf", status: "waiting", share: 0, reason: null, document: null, ...changes };
}

function job(files: JobFile[], status: Job["status"] = "running"): Job {
  return { id: "j1", status, stage: "reading", files, share: 0, started: null, error: null };
}

describe("the rows of the library", () => {
  it("has what is being added first, then documents by title", () => {
    const documents = [doc({ id: "b", title: "Berths 10" }), doc({ id: "a", title: "berths 9" })];
    const rows = rowsOf(documents, [job([file({ status: "indexing", share: 0.4 })])]);
    expect(rows.map((row) => row.title)).toEqual(["new.pdf", "berths 9", "Berths 10"]);
    expect(rows[0]).toMatchObject({ state: "indexing", share: 0.4, kind: "pdf", job: "j1" });
  });

  it("has what failed before what is ready", () => {
    const failed = doc({ id: "failed:1", title: "Zoo.pdf", status: "failed", reason: "no text" });
    expect(rowsOf([doc(), failed], []).map((row) => row.key)).toEqual(["failed:1", "d1"]);
  });

  it("shows a document that is indexed again once, with its progress", () => {
    const again = file({ name: "other name.pdf", document: "d1", status: "indexing", share: 0.5 });
    const rows = rowsOf([doc()], [job([again])]);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ key: "d1", state: "indexing", share: 0.5 });
  });

  it("does not show a file that has become a document twice", () => {
    const done = file({ name: "survey.pdf", status: "ready", share: 1, document: "d1" });
    expect(rowsOf([doc()], [job([done])])).toHaveLength(1);
    expect(rowsOf([], [job([done], "done")])).toHaveLength(0);
  });

  it("keeps a file that was read until the list has its document", () => {
    const done = file({ name: "survey.pdf", status: "ready", share: 1, document: "d1" });
    expect(rowsOf([], [job([done])])[0]).toMatchObject({ state: "ready", doc: null });
  });

  it("has one row of a file, and the same, while it is sent and while it is read", () => {
    const sending = { ...job([file()]), id: "sending 1", stage: "sending" };
    const rows = [[sending], [sending, job([file()])], [job([file()])]].map((jobs) =>
      rowsOf([], jobs).map(({ key, job: of }) => [key, of]),
    );
    expect(rows).toEqual([
      [["file new.pdf", null]],
      [["file new.pdf", "j1"]],
      [["file new.pdf", "j1"]],
    ]);
  });

  it("tells of a file that was turned away, and why", () => {
    const bad = file({ name: "broken.pdf", status: "failed", reason: "it is encrypted" });
    const rows = rowsOf([doc()], [job([bad], "done")]);
    expect(rows[0]).toMatchObject({ state: "failed", reason: "it is encrypted", doc: null });
  });

  it("does not tell it twice where the library lists it itself, or it succeeded later", () => {
    const bad = file({ name: "survey.pdf", status: "failed", reason: "it is encrypted" });
    expect(rowsOf([doc()], [job([bad], "done")])).toHaveLength(1);
    const listed = doc({ id: "failed:1", status: "failed", reason: "it is encrypted" });
    expect(rowsOf([listed], [job([bad], "done")])).toMatchObject([{ key: "failed:1" }]);
  });

  it("shows a failed document that is tried again as waiting, not as failed", () => {
    const failed = doc({ id: "failed:1", status: "failed", reason: "no text" });
    const rows = rowsOf([failed], [job([file({ name: "survey.pdf" })])]);
    expect(rows[0]).toMatchObject({ state: "waiting", reason: null });
  });

  it("is filtered by every word, with and without accents, by name and kind", () => {
    const rows = rowsOf([doc({ title: "Café survey" }), doc({ id: "x", kind: "csv" })], []);
    expect(filterRows(rows, "cafe surv")).toHaveLength(1);
    expect(filterRows(rows, "csv")).toHaveLength(1);
    expect(filterRows(rows, "survey.pdf")).toHaveLength(2);
    expect(filterRows(rows, "nothing")).toHaveLength(0);
    expect(filterRows(rows, "  ")).toHaveLength(2);
  });
});

describe("files that were turned away", () => {
  const bad = job([file({ name: "a.pdf", status: "failed" }), file({ status: "ready" })], "done");

  it("are remembered when their job has ended, once", () => {
    expect(withTurnedAway([], [job([file({ status: "failed" })])])).toEqual([]);
    const known = withTurnedAway([], [bad]);
    expect(known).toEqual([bad]);
    expect(withTurnedAway(known, [bad])).toBe(known);
    expect(withTurnedAway(known, [])).toBe(known);
  });

  it("are forgotten one by one", () => {
    const [row] = rowsOf([], [bad]);
    const left = withoutRow([bad], row as Row);
    expect(left.flatMap((one) => one.files.map(({ name }) => name))).toEqual(["new.pdf"]);
  });

  it("are forgotten with the failed document that the library keeps of them", () => {
    const [row] = rowsOf([doc({ name: "a.pdf", status: "failed" })], [bad]);
    expect(rowsOf([], withoutRow([bad], row as Row))).toEqual([]);
  });
});

describe("words for a document", () => {
  const table = { id: "t", name: "berths", rows: 48123, columns: 4 };

  it("has letters for its kind", () => {
    expect(["pdf", "markdown", "mail", "sheet", "parquet"].map(kindLabel)).toEqual(
      "PDF MD EML XLS PQT".split(" "),
    );
  });

  it("counts pages, rows or tables", () => {
    expect(sizeOf(doc())).toBe("84 p");
    expect(sizeOf(doc({ kind: "csv", pages: 0, tables: [table] }))).toBe("48k rows");
    expect(sizeInWords(doc({ kind: "csv", pages: 0, tables: [table] }))).toBe("48,123 rows");
    expect(sizeOf(doc({ kind: "sheet", pages: 0, tables: [table, table] }))).toBe("2 tables");
    expect(sizeInWords(doc({ kind: "text", pages: 0 }))).toBe("120 passages");
  });

  it("stays a report where a report holds a table", () => {
    expect(sizeOf(doc({ tables: [table] }))).toBe("84 p");
  });

  it("rounds down", () => {
    expect([7, 999, 1000, 1999, 48999, 2_500_000].map(roughly)).toEqual(
      "7 999 1k 1.9k 48k 2.5m".split(" "),
    );
  });
});

describe("words for a past question", () => {
  it("has none where it was answered", () => {
    expect(stateWord({ status: "answered", stop_reason: "answered" })).toBeNull();
  });

  it("says what became of it otherwise", () => {
    expect(stateWord({ status: "running", stop_reason: null })).toBe("running");
    expect(stateWord({ status: "abstained", stop_reason: "no_evidence" })).toBe("no answer found");
    expect(stateWord({ status: "failed", stop_reason: "cancelled" })).toBe("stopped");
  });
});
