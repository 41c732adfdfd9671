import { useState } from "react";
import { nodeName, seconds } from "../parts/words";
import type { RunView, StepView } from "../run";
import { isWeak, numbersOf, routeOf } from "./describe";

/** What was done, in the order in which it was done: the same as the graph, in words. */
export function Steps({ run, over }: { run: RunView; over: boolean }) {
  const troubled = new Set(run.warnings.map((trouble) => trouble.node));
  const several = new Set(run.steps.map((step) => step.workflow)).size > 1;
  return (
    <ol className="steps">
      {run.steps.map((step, at) => {
        const begins = several && step.workflow !== run.steps[at - 1]?.workflow;
        return (
          <Step
            // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever appended
            key={at}
            step={step}
            heading={begins ? step.workflow : null}
            why={routeOf(step, run.steps[at + 1])}
            weak={isWeak(step, troubled)}
            over={over}
          />
        );
      })}
    </ol>
  );
}

interface StepProps {
  step: StepView;
  heading: string | null;
  why: string | null;
  weak: boolean;
  over: boolean;
}

function Step({ step, heading, why, weak, over }: StepProps) {
  const state = step.state === "done" ? "done" : over ? "stopped" : "running";
  return (
    <li data-node={step.node} data-state={state} data-weak={weak}>
      {heading && <span className="steps-workflow">{heading}</span>}
      <div>
        <p>{sentenceOf(step, state)}</p>
        {why && <p className="why">{why}</p>}
        <Numbers step={step} />
      </div>
      <small>{step.state === "done" ? seconds(step.seconds) : ""}</small>
    </li>
  );
}

function sentenceOf(step: StepView, state: "done" | "stopped" | "running"): string {
  if (state === "running") return `${nodeName(step.node)} …`;
  if (state === "stopped") return `${nodeName(step.node)}: stopped here`;
  return step.said || nodeName(step.node);
}

const SHOWN = 3;

function Numbers({ step }: { step: StepView }) {
  const [all, setAll] = useState(false);
  const { telling, empty } = numbersOf(step);
  const numbers = [...telling, ...empty];
  const first = telling.slice(0, SHOWN);
  const more = numbers.length - first.length;
  if (step.state !== "done") return null;
  return (
    <p className="numbers">
      {[nodeName(step.node), ...(all ? numbers : first)].join(" · ")}
      {more > 0 && (
        <>
          {" "}
          <button
            type="button"
            aria-expanded={all}
            aria-label={all ? "Fewer numbers" : `${more} more numbers of ${nodeName(step.node)}`}
            onClick={() => setAll(!all)}
          >
            {all ? "less" : `+${more}`}
          </button>
        </>
      )}
    </p>
  );
}
