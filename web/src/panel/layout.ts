/** Where the nodes and edges of a graph are drawn. */
import { Graph as DagreGraph, layout } from "@dagrejs/dagre";
import type { Graph } from "../types";
import { isDot } from "./graphState";

export interface DrawnNode {
  id: string;
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
  /** The beginning and the end are dots, everything else a box with words. */
  dot: boolean;
}

export interface DrawnEdge {
  source: string;
  target: string;
  conditional: boolean;
  path: string;
}

export interface Drawing {
  width: number;
  height: number;
  nodes: DrawnNode[];
  edges: DrawnEdge[];
}

interface Point {
  x: number;
  y: number;
}

const BOX_HEIGHT = 26;
const DOT = 10;
const PADDING = 20;
const CHARACTER = 6.7;

export function boxWidth(label: string): number {
  return Math.max(56, Math.round(label.length * CHARACTER) + PADDING);
}

export function drawGraph(graph: Graph): Drawing {
  const plan = new DagreGraph({ multigraph: true });
  plan.setGraph({ rankdir: "TB", nodesep: 10, edgesep: 10, ranksep: 18, marginx: 4, marginy: 4 });
  plan.setDefaultEdgeLabel(() => ({}));
  for (const { id, label } of graph.nodes) plan.setNode(id, sizeOf(id, label));
  for (const { source, target } of graph.edges) {
    if (source !== target) plan.setEdge(source, target, {});
  }
  layout(plan);
  const { width = 0, height = 0 } = plan.graph();
  return {
    width: Math.ceil(width),
    height: Math.ceil(height),
    nodes: graph.nodes.map(({ id, label }) => placed(id, label, plan.node(id))),
    edges: graph.edges.map((edge) => ({
      ...edge,
      path: pathOf(plan, edge.source, edge.target),
    })),
  };
}

function pathOf(plan: DagreGraph, source: string, target: string): string {
  if (source === target) return loopAt(plan.node(source));
  return curve(plan.edge(source, target).points ?? []);
}

/** A step that may follow itself has a loop under its left corner, where its badge is not. */
function loopAt({ x, y, width, height }: Point & { width: number; height: number }): string {
  const [left, bottom] = [x - width / 2, y + height / 2];
  const reach = `${xy({ x: left - 12, y: y + 2 })} ${xy({ x: left - 2, y: bottom + 14 })}`;
  return `M${xy({ x: left, y: y + 3 })} C${reach} ${xy({ x: left + 10, y: bottom })}`;
}

function sizeOf(id: string, label: string): { width: number; height: number } {
  return isDot(id) ? { width: DOT, height: DOT } : { width: boxWidth(label), height: BOX_HEIGHT };
}

function placed(
  id: string,
  label: string,
  at: Point & { width: number; height: number },
): DrawnNode {
  return { id, label, x: at.x, y: at.y, width: at.width, height: at.height, dot: isDot(id) };
}

/** A line through the points, rounded where it bends. */
export function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (!first || !last) return "";
  const bends = rest.slice(0, -1);
  if (bends.length === 0) return `M${xy(first)} L${xy(last)}`;
  // The last bend ends at the last point: a line of no length would turn the arrow the wrong way.
  const ends = bends.map((bend, at) => middle(bend, bends[at + 1] ?? bend)).with(-1, last);
  return `M${xy(first)} ${bends.map((bend, at) => `Q${xy(bend)} ${xy(ends[at] ?? last)}`).join(" ")}`;
}

function middle(one: Point, other: Point): Point {
  return { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 };
}

function xy({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
