import { useEffect, useRef } from "react";
import { parseRoute } from "../routes";
import { isLive, type RunView } from "../run";
import { AnswerBody } from "./AnswerBody";
import { Ended } from "./Ended";
import { RouteLine } from "./RouteLine";
import { SourceCards } from "./SourceCards";
import { Working } from "./Working";

/** One question and what became of it. */
export function RunPage({ run }: { run: RunView }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what happens to a run moves nothing
  useEffect(() => {
    document.title = run.question ? `${run.question} · Secondlook` : "Secondlook";
    const { run: wanted } = parseRoute(location.hash);
    const earlier = isLive(run) ? null : document.getElementById(`turn ${wanted}`);
    (earlier ?? heading.current?.closest("article"))?.scrollIntoView();
    // The button that asked may be gone: the focus then goes on from the question.
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
    return () => {
      document.title = "Secondlook";
    };
  }, [run.question, run.after]);
  const { answer } = run;
  return (
    <article aria-busy={isLive(run)} data-phase={run.phase}>
      <h1 ref={heading} tabIndex={-1}>
        {run.question || "This question cannot be shown"}
      </h1>
      <RouteLine key={`route ${run.id}`} run={run} />
      <SourceCards key={`sources ${run.id}`} run={run} />
      {isLive(run) && <Working run={run} />}
      {answer ? <AnswerBody answer={answer} run={run} /> : !isLive(run) && <Ended run={run} />}
    </article>
  );
}
