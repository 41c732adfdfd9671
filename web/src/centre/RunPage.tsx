import { useEffect, useRef } from "react";
import { runRoute } from "../routes";
import { isLive, type RunView } from "../run";
import { useSelect } from "../store";
import { AnswerBody } from "./AnswerBody";
import { Ended } from "./Ended";
import { RouteLine } from "./RouteLine";
import { SourceCards } from "./SourceCards";
import { Working } from "./Working";

/** One question and what became of it. */
export function RunPage({ run }: { run: RunView }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = run.question ? `${run.question} · Secondlook` : "Secondlook";
    heading.current?.closest(".page")?.scrollTo({ top: 0 });
    // The button that asked may be gone: the focus then goes on from the question.
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
    return () => {
      document.title = "Secondlook";
    };
  }, [run.question]);
  const { answer } = run;
  return (
    <article aria-busy={isLive(run)} data-phase={run.phase}>
      <Earlier after={run.after} />
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

/** The question before it in the conversation. */
function Earlier({ after }: { after: string | null }) {
  const runs = useSelect((state) => state.runs);
  const before = runs?.find((one) => one.id === after);
  if (!before) return null;
  return (
    <p className="earlier">
      Follows <a href={runRoute(before.id)}>{before.question}</a>
    </p>
  );
}
