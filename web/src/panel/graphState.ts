/** Which nodes and edges of a graph a run has used. */
import type { StepView } from "../run";
import type { Graph } from "../types";

export type NodeState = "idle" | "running" | "done" | "skipped";

export interface GraphState {
  nodes: ReadonlyMap<string, { state: NodeState; times: number }>;
  /** Keys of the edges that were taken, as `edgeKey` makes them. */
  taken: ReadonlySet<string>;
}

export const START = "__start__";
export const END = "__end__";

export function edgeKey(source: string, target: string): string {
  return `${source} ${target}`;
}

/** `over` says that the run has ended: what was not visited by then was not needed. */
export function graphState(graph: Graph, steps: readonly StepView[], over: boolean): GraphState {
  const own = steps.filter((step) => step.workflow === graph.name);
  const taken = takenEdges(graph, own, over);
  const nodes = graph.nodes.map(({ id }) => {
    const visits = own.filter((step) => step.node === id);
    const state = isDot(id) ? dotState(id, taken, over) : nodeState(visits, own, over);
    return [id, { state, times: visits.length }] as const;
  });
  return { nodes: new Map(nodes), taken };
}

export function isDot(id: string): boolean {
  return id === START || id === END;
}

function nodeState(
  visits: readonly StepView[],
  all: readonly StepView[],
  over: boolean,
): NodeState {
  if (visits.length === 0) return over && all.length > 0 ? "skipped" : "idle";
  if (visits.every((visit) => visit.state === "done")) return "done";
  return over ? "skipped" : "running";
}

function dotState(id: string, taken: ReadonlySet<string>, over: boolean): NodeState {
  const reached = [...taken].some((key) => key.split(" ")[id === START ? 0 : 1] === id);
  if (reached) return "done";
  return over && taken.size > 0 ? "skipped" : "idle";
}

function takenEdges(graph: Graph, steps: readonly StepView[], over: boolean): Set<string> {
  const edges = new Set(graph.edges.map((edge) => edgeKey(edge.source, edge.target)));
  const trail = [START];
  const taken = new Set<string>();
  for (const { node } of steps) {
    const key = lastEdgeInto(node, trail, edges);
    if (key) taken.add(key);
    trail.push(node);
  }
  const last = steps.at(-1);
  const out = edgeKey(last?.node ?? "", END);
  if (over && last?.state === "done" && edges.has(out)) taken.add(out);
  return taken;
}

/** Nodes may run side by side, so a node was not always reached from the one before it. */
function lastEdgeInto(
  node: string,
  trail: readonly string[],
  edges: ReadonlySet<string>,
): string | undefined {
  return trail.map((source) => edgeKey(source, node)).findLast((key) => edges.has(key));
}
