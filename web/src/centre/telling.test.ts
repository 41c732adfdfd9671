import { expect, test } from "vitest";
import { newRun, type RunView } from "../run";
import type { Analysis, Answer, Claim, Computation, ResultTable } from "../types";
import * as telling from "./telling";

const claim = (changes: Partial<Claim> = {}): Claim => ({
  text: "The board expects 2026.",
  citations: [1],
  support: 0.9,
  supported: true,
  computation: null,
  ...changes,
});

const answer = (changes: Partial<Answer> = {}): Answer =>
  ({
    status: "answered",
    claims: [claim()],
    citations: [{ number: 1, title: "Minutes", page: 2 }],
    analysis: null,
    choice: null,
    asked: "q",
    queries: ["q"],
    passages: [],
    confidence: { value: 0.914, label: "calibrated", reasons: [] },
    usage: { seconds: 0.83, calls: 0, cost: 0 },
    ...changes,
  }) as unknown as Answer;

const running = (changes: Partial<RunView>): RunView => ({
  ...newRun("q", "default", "auto"),
  phase: "running",
  ...changes,
});

test("the strip counts what was verified", () => {
  const claims = [claim(), claim({ supported: false }), claim()];
  expect(telling.verdict(answer({ claims }))).toBe("2 of 3 claims verified");
  expect(telling.verdict(answer())).toBe("1 of 1 claim verified");
  expect(telling.verdict(answer({ claims: [claim({ supported: null })] }))).toMatch(/^Quoted/);
  const bare = [claim({ supported: null, citations: [] })];
  expect(telling.verdict(answer({ claims: bare }))).toBe("1 claim, not checked");
});

test("a list of the library is shown as an answer, though it claims nothing", () => {
  expect(telling.hasWords(answer({ claims: [], method: "catalogue" }))).toBe(true);
  expect(telling.hasWords(answer({ claims: [], method: "none" }))).toBe(false);
});

test("general knowledge is never told as verified", () => {
  const analysis = { grounded: false } as Analysis;
  expect(telling.verdict(answer({ analysis }))).toMatch(/no source/);
});

test("the weakest claim is named, with the place to read", () => {
  const claims = [
    claim({ supported: false, support: 0.4, text: "First." }),
    claim({ supported: false, support: 0.1, text: "Second." }),
  ];
  expect(telling.weakest(answer({ claims }))).toMatch(/“Second\.” .*Minutes, page 2/);
  expect(telling.weakest(answer())).toBeNull();
  const bare = [claim({ supported: false, citations: [] })];
  expect(telling.weakest(answer({ claims: bare }))).toMatch(/no source/);
});

test("facts are short, and money is told where there was any", () => {
  expect(telling.facts(answer())).toEqual(["0.8 s", "no model calls"]);
  const usage = { seconds: 100, calls: 2, cost: 0.002 } as Answer["usage"];
  expect(telling.facts(answer({ usage }))).toEqual(["1 min 40 s", "2 model calls", "$0.0020"]);
  const unknown = { seconds: 1, calls: 1, cost: null } as Answer["usage"];
  expect(telling.facts(answer({ usage: unknown }))).toContain("cost unknown");
  const named = (model: string) => telling.facts(answer({ model })).at(-1);
  expect(named("openai:small@http://127.0.0.1:9/v1")).toBe("answered by small");
  expect(named("ollama:qwen2.5:1.5b")).toBe("answered by qwen2.5:1.5b");
  expect(named("gguf:/home/ada/models/tiny.gguf")).toBe("answered by tiny");
});

test("a provisional number is not told as if it were fitted", () => {
  expect(telling.sureness(answer())).toBe("91 % sure");
  const confidence = { value: 0.8, label: "provisional" as const, reasons: [] };
  expect(telling.sureness(answer({ confidence }))).toBe("about 80 % sure");
  expect(telling.sureness(answer({ confidence: { ...confidence, value: null } }))).toBeNull();
});

test("while it runs, the newest running node is told in words", () => {
  const step = { workflow: "linear", said: "", numbers: {}, seconds: 0, route: null };
  const steps = [
    { ...step, node: "retrieve", state: "done" as const, said: "Found 20 passages." },
    { ...step, node: "made_up_node", state: "running" as const },
  ];
  expect(telling.doing(running({ steps }))).toBe("Made up node");
  expect(telling.lastSaid(running({ steps }))).toBe("Found 20 passages.");
  expect(telling.doing(running({ phase: "queued", position: 3 }))).toMatch(/2 questions before/);
  expect(telling.doing(running({ phase: "queued", position: 1 }))).toBe("Next in line");
  expect(telling.doing(running({ connected: false }))).toBe("Connection lost. Reconnecting ...");
});

const chart = (rows: [string, number][]): Analysis =>
  ({
    reading: "sum of calls by month",
    table: { columns: ["month", "calls"], rows, total_rows: rows.length },
    columns: [{ table: "t1" }],
    inputs: [
      { id: "t1", name: "a", title: "a.csv" },
      { id: "t2", name: "b", title: "b.csv" },
    ],
  }) as unknown as Analysis;

test("a chart is told in words: its highest, its lowest, and the table it is of", () => {
  const rows: [string, number][] = [
    ["April", 32],
    ["May", 12000],
  ];
  expect(telling.figureWords("Calls by month", chart(rows))).toBe(
    "Calls by month. Highest 12,000 (May), lowest 32 (April). From a.csv.",
  );
  expect(telling.figureWords("", chart([["April", 1]]))).toBe("Sum of calls by month. From a.csv.");
});

test("what code reckoned is written so that anybody can do it again", () => {
  const operands = [
    { text: "1981", citation: 1, name: null },
    { text: "2004", citation: 2, name: null },
  ];
  const computation: Computation = { operation: "years", operands, result: "23 years" };
  expect(telling.reckoned(claim({ computation }))).toBe("2004 [2] − 1981 [1] = 23 years");
  expect(telling.reckoned(claim())).toBeNull();
});

test("what was searched is told, other wordings too", () => {
  const passages = [{ document: "a" }, { document: "a" }, { document: "b" }] as never;
  expect(telling.searched(answer({ passages }))).toBe("Looked at 3 passages of 2 documents.");
  const queries = ["q", "depth of berth"];
  expect(telling.searched(answer({ passages, queries }))).toMatch(/also for “depth of berth”/);
  const many = ["q", "a", "b", "c", "d", "e"];
  expect(telling.searched(answer({ passages, queries: many }))).toMatch(/“c”, 2 other wordings\.$/);
  expect(telling.searched(answer())).toBe("No passage was found.");
});

test("long words are cut between words, with a sign that they were", () => {
  expect(telling.shortened("one two three four", 11)).toBe("one two…");
  expect(telling.shortened("a\n b", 10)).toBe("a b");
});

test("what else was tried is said, without the list that the page shows itself", () => {
  const text =
    'I couldn\'t find a clear answer. These passages come closest: "A", p. 2; "B".' +
    "\n\nThe tables were tried too.";
  expect(telling.ownWords(text)).toEqual([
    "I couldn't find a clear answer. These passages come closest.",
    "The tables were tried too.",
  ]);
  expect(telling.ownWords("Refused.")).toEqual(["Refused."]);
});

test("headings of a passage are shown as they are read", () => {
  expect(telling.withoutHashes("## 2. Dredging\nC# and # stay")).toBe("2. Dredging\nC# and # stay");
});

test("what was done is told in plain words, the workflow as a detail", () => {
  const chosen = { workflow: "linear", why: "one fact from documents" };
  expect(telling.route(running({ workflow: "auto", chosen }))).toEqual({
    words: "Searched your documents.",
    details: "linear: One fact from documents.",
  });
  expect(telling.route(running({ workflow: "research", chosen: null }))?.words).toBe(
    "Asked with research.",
  );
});

test("a number looks like one", () => {
  const shorts = ["50264.55", "394", "-3", "7.8 metres", "2024-01"];
  expect(shorts.map(telling.asFigure)).toEqual(["50,264.55", "394", "-3", null, null]);
});

test("numbers of one column have as many decimals each", () => {
  expect(telling.alike([4225.249999, 3859, 5054.4])).toEqual(["4,225.25", "3,859.00", "5,054.40"]);
  expect(telling.alike([1200, 30])).toEqual(["1,200", "30"]);
  expect(telling.alike([0.1234567, 2])).toEqual(["0.1235", "2.0000"]);
});

test("groups are bars by size, months in their order, and what lies below zero is none", () => {
  const table = (rows: [string, number][]) =>
    ({ columns: ["group", "sum"], rows, total_rows: rows.length }) as ResultTable;
  const names = (...rows: [string, number][]) =>
    telling.barsOf(table(rows)).map(({ name }) => name);
  expect(names(["a", 1], ["b", 3])).toEqual(["b", "a"]);
  expect(names(["2024-02", 9], ["2024-01", 3])).toEqual(["2024-01", "2024-02"]);
  expect(names(["a", 1], ["b", -3])).toEqual([]);
  expect(telling.barsOf(null)).toEqual([]);
});
