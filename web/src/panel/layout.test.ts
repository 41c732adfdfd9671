import { describe, expect, it } from "vitest";
import type { Graph } from "../types";
import { END, START } from "./graphState";
import { curve, drawGraph } from "./layout";

function graphOf(...pairs: [string, string][]): Graph {
  const ids = [...new Set(pairs.flat())];
  return {
    name: "g",
    about: "",
    mermaid: "",
    nodes: ids.map((id) => ({ id, label: id })),
    edges: pairs.map(([source, target]) => ({ source, target, conditional: false })),
  };
}

const loop = graphOf(
  [START, "retrieve"],
  ["retrieve", "grade"],
  ["grade", "retrieve"],
  ["grade", END],
);

describe("where a graph is drawn", () => {
  it("puts what comes first on top", () => {
    const heights = drawGraph(loop).nodes.map((node) => node.y);
    expect([...heights].sort((a, b) => a - b)).toEqual(heights);
  });

  it("keeps every node inside of the drawing, and no two on one another", () => {
    const { nodes, width, height } = drawGraph(
      graphOf(["a", "b"], ["a", "c"], ["a", "d"], ["b", "e"], ["c", "e"], ["d", "e"]),
    );
    for (const node of nodes) {
      expect(node.x - node.width / 2).toBeGreaterThanOrEqual(0);
      expect(node.x + node.width / 2).toBeLessThanOrEqual(width);
      expect(node.y + node.height / 2).toBeLessThanOrEqual(height);
    }
    const overlaps = nodes.flatMap((one, at) =>
      nodes
        .slice(at + 1)
        .filter(
          (other) =>
            Math.abs(one.x - other.x) < (one.width + other.width) / 2 &&
            Math.abs(one.y - other.y) < (one.height + other.height) / 2,
        ),
    );
    expect(overlaps).toEqual([]);
  });

  it("draws a way back and a step that repeats itself", () => {
    const { edges } = drawGraph(graphOf(["ask", "ask"], ["ask", "answer"], ["answer", "ask"]));
    expect(edges.map((edge) => edge.path.startsWith("M"))).toEqual([true, true, true]);
  });

  it("makes dots of the beginning and the end, and room for long words", () => {
    const { nodes } = drawGraph(
      graphOf([START, "a"], ["a", "quite a long name of a step"], ["a", END]),
    );
    const by = new Map(nodes.map((node) => [node.id, node]));
    expect(by.get(START)?.dot).toBe(true);
    expect(by.get("a")?.dot).toBe(false);
    expect(by.get("quite a long name of a step")?.width).toBeGreaterThan(by.get("a")?.width ?? 999);
  });

  it("gives a graph of one node room", () => {
    expect(drawGraph(graphOf(["a", "a"])).width).toBeGreaterThan(40);
  });
});

describe("a line through points", () => {
  it("is straight between two and rounded between three", () => {
    expect(
      curve([
        { x: 0, y: 0 },
        { x: 0, y: 9 },
      ]),
    ).toBe("M0.0 0.0 L0.0 9.0");
    const bent = curve([
      { x: 0, y: 0 },
      { x: 5, y: 5 },
      { x: 0, y: 9 },
    ]);
    expect(bent).toBe("M0.0 0.0 Q5.0 5.0 0.0 9.0");
  });

  it("is nothing where there are no points", () => {
    expect(curve([])).toBe("");
  });
});
