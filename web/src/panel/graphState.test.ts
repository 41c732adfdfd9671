import { describe, expect, it } from "vitest";
import type { StepView } from "../run";
import type { Graph } from "../types";
import { END, edgeKey, graphState, START } from "./graphState";

const graph: Graph = {
  name: "small",
  about: "For tests.",
  mermaid: "",
  nodes: [START, "retrieve", "grade", "rewrite", "answer", END].map((id) => ({ id, label: id })),
  edges: [
    [START, "retrieve"],
    ["retrieve", "grade"],
    ["grade", "rewrite"],
    ["grade", "answer"],
    ["rewrite", "retrieve"],
    ["answer", END],
  ].map(([source = "", target = ""]) => ({ source, target, conditional: source === "grade" })),
};

function visit(node: string, state: StepView["state"] = "done", workflow = "small"): StepView {
  return { node, workflow, state, said: "", numbers: {}, seconds: 0.1, route: null };
}

function states(visits: StepView[], over: boolean): Record<string, string> {
  const { nodes } = graphState(graph, visits, over);
  return Object.fromEntries([...nodes].map(([id, { state }]) => [id, state]));
}

describe("the state of a graph", () => {
  it("is idle before anything happened", () => {
    expect(new Set(Object.values(states([], false)))).toEqual(new Set(["idle"]));
  });

  it("shows what is done and what is at work", () => {
    expect(states([visit("retrieve"), visit("grade", "running")], false)).toEqual({
      [START]: "done",
      retrieve: "done",
      grade: "running",
      rewrite: "idle",
      answer: "idle",
      [END]: "idle",
    });
  });

  it("calls a node that runs again running, not done", () => {
    const again = [
      visit("retrieve"),
      visit("grade"),
      visit("rewrite"),
      visit("retrieve", "running"),
    ];
    expect(states(again, false).retrieve).toBe("running");
  });

  it("shows what was not needed once the run is over", () => {
    const all = states([visit("retrieve"), visit("grade"), visit("answer")], true);
    expect(all.rewrite).toBe("skipped");
    expect(all[END]).toBe("done");
  });

  it("does not reach the end where the run was stopped", () => {
    const all = states([visit("retrieve"), visit("grade", "running")], true);
    expect(all.grade).toBe("skipped");
    expect(all[END]).toBe("skipped");
  });

  it("takes the edges that were walked, and counts how often a node ran", () => {
    const walk = ["retrieve", "grade", "rewrite", "retrieve", "grade", "answer"].map((n) =>
      visit(n),
    );
    const { taken, nodes } = graphState(graph, walk, true);
    expect(taken).toEqual(new Set(graph.edges.map((edge) => edgeKey(edge.source, edge.target))));
    expect(nodes.get("grade")?.times).toBe(2);
  });

  it("leaves an edge alone that was not walked", () => {
    const { taken } = graphState(graph, [visit("retrieve"), visit("grade"), visit("answer")], true);
    expect(taken.has(edgeKey("grade", "rewrite"))).toBe(false);
    expect(taken.has(edgeKey("grade", "answer"))).toBe(true);
  });

  it("ignores nodes of another workflow", () => {
    expect(states([visit("retrieve", "done", "other")], true).retrieve).toBe("idle");
  });
});
