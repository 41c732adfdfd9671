import { describe, expect, it } from "vitest";
import type { StepView } from "../run";
import type { SeenPassage } from "../types";
import {
  choiceOf,
  columnsUsed,
  isWeak,
  keptAndDropped,
  numbersOf,
  ordinal,
  routeOf,
  scoresOf,
  workflowsDrawn,
} from "./describe";

function step(changes: Partial<StepView> = {}): StepView {
  const bare = { node: "grade", workflow: "corrective", state: "done" as const, said: "" };
  return { ...bare, numbers: {}, seconds: 0, route: null, ...changes };
}

function passage(changes: Partial<SeenPassage> = {}): SeenPassage {
  return {
    id: "d.1",
    document: "d",
    title: "Survey",
    page: 2,
    start: 0,
    end: 9,
    score: 0.697,
    fusion_score: null,
    dense_rank: 1,
    dense_score: null,
    lexical_rank: null,
    lexical_score: null,
    rerank_score: 4.839,
    answer_score: null,
    grade: "not graded",
    answers: null,
    graded_by: null,
    kept: true,
    why: "among the best",
    origin: "library",
    url: null,
    text: null,
    ...changes,
  };
}

describe("which graphs are drawn", () => {
  it("draws what auto handed the question to, both where there are two", () => {
    const steps = ["auto", "corrective", "analyst", "corrective", "auto"].map((workflow) =>
      step({ workflow }),
    );
    expect(workflowsDrawn({ workflow: "auto", chosen: null, steps })).toEqual([
      "corrective",
      "analyst",
    ]);
  });

  it("draws auto until it has chosen, and what it chose before that has begun", () => {
    const steps = [step({ workflow: "auto" })];
    expect(workflowsDrawn({ workflow: "auto", chosen: null, steps })).toEqual(["auto"]);
    const listed = { workflow: "catalogue", why: "a greeting" };
    expect(workflowsDrawn({ workflow: "auto", chosen: listed, steps })).toEqual(["auto"]);
    const chosen = { workflow: "linear", why: "one fact" };
    expect(workflowsDrawn({ workflow: "auto", chosen, steps })).toEqual(["linear"]);
  });

  it("draws nothing for a run of which nothing is known", () => {
    expect(workflowsDrawn({ workflow: "", chosen: null, steps: [] })).toEqual([]);
  });
});

describe("why a run went where it went", () => {
  it("says what came next and why", () => {
    const graded = step({ said: "Kept 1 of 10.", route: { to: "rewrite", why: "too little" } });
    expect(routeOf(graded, step({ node: "rewrite" }))).toBe("Then rewrite: too little");
  });

  it("gives the reason alone where the way has no step of that name", () => {
    const asked = step({ route: { to: "none", why: "no query is new" } });
    expect(routeOf(asked, step({ node: "grade" }))).toBe("No query is new");
  });

  it("does not say twice what the step has said itself", () => {
    const why = "One fact, so Secondlook used linear.";
    expect(routeOf(step({ said: why, route: { to: "linear", why } }), undefined)).toBeNull();
    expect(choiceOf({ workflow: "linear", why })).toBe(why);
    expect(choiceOf({ workflow: "linear", why: "one fact" })).toBe("linear: one fact");
  });
});

describe("the numbers behind a step", () => {
  it("sets those apart that say something", () => {
    const numbers = { graded: 10, missing: 0, best_score: 0.93471, grounded: true, query: null };
    expect(numbersOf({ numbers })).toEqual({
      telling: ["graded 10", "best score 0.93", "grounded yes"],
      empty: ["missing 0"],
    });
  });

  it("does not round a small number to nothing, and quotes what has several words", () => {
    const { telling } = numbersOf({ numbers: { risk: 0.00042, query: "how deep", by: "reader" } });
    expect(telling).toEqual(["risk 4.2e-4", "query “how deep”", "by reader"]);
  });

  it("calls a step weak that found something unsupported, or that had trouble", () => {
    expect(isWeak(step({ numbers: { unsupported: 1 } }), new Set())).toBe(true);
    expect(isWeak(step({ numbers: { unsupported: 0 } }), new Set())).toBe(false);
    expect(isWeak(step(), new Set(["grade"]))).toBe(true);
  });
});

describe("what became of passages", () => {
  it("sets kept and dropped ones apart, each by score", () => {
    const seen = [
      passage({ id: "a", score: 0.2 }),
      passage({ id: "b", score: 0.9, kept: false }),
      passage({ id: "c", score: 0.8 }),
    ];
    const [kept, dropped] = keptAndDropped(seen);
    expect(kept.map(({ id }) => id)).toEqual(["c", "a"]);
    expect(dropped.map(({ id }) => id)).toEqual(["b"]);
  });

  it("tells the scores that there are", () => {
    expect(scoresOf(passage())).toBe("score 0.70 · reader 4.84 · 1st by meaning");
    const graded = passage({
      grade: "relevant",
      answers: true,
      rerank_score: null,
      lexical_rank: 22,
    });
    expect(scoresOf(graded)).toBe("score 0.70 · answers it · 1st by meaning · 22nd by words");
    expect(scoresOf(passage({ grade: "irrelevant" }))).toContain("not about it");
  });

  it("counts as people do", () => {
    expect([1, 2, 3, 4, 11, 12, 13, 21, 102].map(ordinal)).toEqual(
      "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd".split(" "),
    );
  });
});

describe("columns of a table", () => {
  it("tells which words of the question were taken for columns of this table", () => {
    const columns = [
      { asked: "price", table: "sales", column: "price_eur", score: 0.9, how: "fuzzy" },
      { asked: "month", table: "id-of-sales", column: "month", score: 1, how: "exact" },
      { asked: "shop", table: "shops", column: "name", score: 1, how: "meaning" },
    ];
    const sales = { id: "id-of-sales", name: "sales" };
    expect(columnsUsed({ columns }, sales)).toEqual([
      { column: "price_eur", asked: "price", how: "spelled alike" },
      { column: "month", asked: "month", how: "by its name" },
    ]);
    expect(columnsUsed(null, sales)).toEqual([]);
  });
});
