import { useEffect, useId, useMemo, useRef, useState } from "react";
import { nodeName } from "../parts/words";
import type { StepView } from "../run";
import type { Graph } from "../types";
import { edgeKey, type GraphState, graphState, type NodeState } from "./graphState";
import { type DrawnEdge, type DrawnNode, drawGraph } from "./layout";
import "./graph.css";

interface Props {
  graph: Graph;
  steps: readonly StepView[];
  /** The run has ended. */
  over: boolean;
}

/** The workflow as a graph that lights up while the run goes through it. */
export function GraphDrawing({ graph, steps, over }: Props) {
  const drawing = useMemo(() => drawGraph(named(graph)), [graph]);
  const state = useMemo(() => graphState(graph, steps, over), [graph, steps, over]);
  const box = useRef<HTMLElement>(null);
  const [whole, setWhole] = useState(false);
  const arrow = useId();
  const running = drawing.nodes.find(({ id }) => state.nodes.get(id)?.state === "running");
  useEffect(() => {
    if (running && box.current) bringIntoView(box.current, running, drawing.width);
  }, [running, drawing]);
  return (
    <>
      <section
        ref={box}
        className="graph"
        data-whole={whole}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        aria-label={`Graph of ${graph.name}`}
      >
        <svg
          viewBox={`0 0 ${drawing.width} ${drawing.height}`}
          style={{ width: drawing.width, minWidth: drawing.width * SMALLEST }}
          role="img"
          aria-label={inWords(graph, state)}
        >
          <Arrows id={arrow} />
          {inDrawingOrder(drawing.edges, state).map((edge) => (
            <Edge key={edgeKey(edge.source, edge.target)} edge={edge} state={state} arrow={arrow} />
          ))}
          {drawing.nodes.map((node) => (
            <Node key={node.id} node={node} {...(state.nodes.get(node.id) ?? IDLE)} />
          ))}
        </svg>
      </section>
      {drawing.height > TALL && (
        <button type="button" className="graph-more link" onClick={() => setWhole(!whole)}>
          {whole ? "Show less of the graph" : "Show the whole graph"}
        </button>
      )}
    </>
  );
}

/** A graph of this height does not fit beside its list. */
const TALL = 420;

/** Words smaller than this cannot be read: a wider graph is scrolled instead. */
const SMALLEST = 0.85;

const IDLE = { state: "idle", times: 0 } as const;

const WORDS: Record<NodeState, string> = {
  idle: "not reached yet",
  running: "running",
  done: "done",
  skipped: "not needed",
};

function named(graph: Graph): Graph {
  const nodes = graph.nodes.map(({ id, label }) => ({ id, label: nodeName(label) }));
  return { ...graph, nodes };
}

function bringIntoView(box: HTMLElement, node: DrawnNode, width: number): void {
  const scale = Math.min(1, box.clientWidth / width);
  box.scrollTop = node.y * scale - box.clientHeight / 2;
}

/** Edges that were taken lie on top of those that were not. */
function inDrawingOrder(edges: readonly DrawnEdge[], state: GraphState): DrawnEdge[] {
  const isTaken = (edge: DrawnEdge) => state.taken.has(edgeKey(edge.source, edge.target));
  return [...edges].sort((one, other) => Number(isTaken(one)) - Number(isTaken(other)));
}

function inWords(graph: Graph, { nodes }: GraphState): string {
  const told = (["done", "running", "skipped"] as const).map((state) => {
    const names = graph.nodes
      .filter(({ id }) => !id.startsWith("__") && nodes.get(id)?.state === state)
      .map(({ label }) => nodeName(label));
    return names.length > 0 ? `${WORDS[state]}: ${names.join(", ")}` : "";
  });
  return `Steps of ${graph.name}. ${told.filter(Boolean).join(". ") || "None has begun"}.`;
}

function Arrows({ id }: { id: string }) {
  return (
    <defs>
      {(["free", "taken"] as const).map((kind) => (
        <marker
          key={kind}
          id={`${id}-${kind}`}
          className={`arrow ${kind}`}
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth={kind === "taken" ? 11 : 7}
          markerHeight={kind === "taken" ? 11 : 7}
          markerUnits="userSpaceOnUse"
          orient="auto-start-reverse"
        >
          <path d="M0 0.5 L8 4 L0 7.5 Z" />
        </marker>
      ))}
    </defs>
  );
}

function Edge({ edge, state, arrow }: { edge: DrawnEdge; state: GraphState; arrow: string }) {
  const taken = state.taken.has(edgeKey(edge.source, edge.target));
  return (
    <path
      className="edge"
      data-edge={`${edge.source} ${edge.target}`}
      data-taken={taken}
      data-conditional={edge.conditional}
      d={edge.path}
      markerEnd={`url(#${arrow}-${taken ? "taken" : "free"})`}
    />
  );
}

function Node({ node, state, times }: { node: DrawnNode; state: NodeState; times: number }) {
  const { id, label, x, y, width, height } = node;
  return (
    <g className="node" data-node={id} data-state={state} transform={`translate(${x} ${y})`}>
      <title>{`${label}: ${WORDS[state]}`}</title>
      {node.dot ? (
        <circle r={width / 2} />
      ) : (
        <>
          <rect x={-width / 2} y={-height / 2} width={width} height={height} rx="8" />
          <text textAnchor="middle" dy="0.34em">
            {label}
          </text>
          <Badge state={state} times={times} x={width / 2 - 1} y={-height / 2 + 1} />
        </>
      )}
    </g>
  );
}

/** A mark beside the colour: a tick, how often it ran, or three dots. */
function Badge({ state, times, x, y }: { state: NodeState; times: number; x: number; y: number }) {
  if (state !== "done" && state !== "running") return null;
  const sign = state === "running" ? "…" : "✓";
  return (
    <g className="badge" transform={`translate(${x} ${y})`}>
      <rect x={times > 1 ? -13 : -7} y="-7" width={times > 1 ? 26 : 14} height="14" rx="7" />
      <text textAnchor="middle" dy="0.35em">
        {times > 1 ? `${sign}${times}×` : sign}
      </text>
    </g>
  );
}
