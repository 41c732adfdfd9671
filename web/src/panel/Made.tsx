import { Fragment } from "react";
import { isLive, type RunView } from "../run";
import { AnalysisMade } from "./AnalysisMade";
import { choiceOf, workflowsDrawn } from "./describe";
import { GraphDrawing } from "./GraphDrawing";
import { Passages } from "./Passages";
import { Steps } from "./Steps";
import { useGraph } from "./useGraph";
import "./made.css";

/** How the answer was made: as a graph, as a list, and the passages it was made from. */
export function Made({ run }: { run: RunView | null }) {
  if (run === null || run.phase === "lost") {
    return (
      <p className="panel-empty">
        Ask a question, and each step that leads to its answer shows up here: what was searched,
        what was kept and why, and how the answer was checked.
      </p>
    );
  }
  const over = !isLive(run);
  const drawn = workflowsDrawn(run);
  return (
    <>
      <h2 className="sr">How this answer was made</h2>
      {run.chosen && <p className="chosen">{choiceOf(run.chosen)}</p>}
      {drawn.map((name) => (
        <Fragment key={name}>
          {drawn.length > 1 && <h3>{name}</h3>}
          <WorkflowGraph name={name} run={run} over={over} />
        </Fragment>
      ))}
      <h3 className="sr">Steps</h3>
      <Steps run={run} over={over} />
      {run.answer?.analysis && <AnalysisMade analysis={run.answer.analysis} run={run.answer.run} />}
      <Passages run={run} />
    </>
  );
}

function WorkflowGraph({ name, run, over }: { name: string; run: RunView; over: boolean }) {
  const graph = useGraph(name);
  if (graph === null) return <div className="graph" aria-hidden="true" />;
  if (graph === "missing") {
    return (
      <p className="panel-empty">{`The graph of ${name} cannot be drawn; its steps follow.`}</p>
    );
  }
  return <GraphDrawing graph={graph} steps={run.steps} over={over} />;
}
