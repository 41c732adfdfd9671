import { count } from "../parts/words";
import type { Research, ResearchStep } from "../types";

const STATUS = {
  completed: "found",
  weak: "found, with doubt",
  failed: "not found",
  pending: "not tried",
} as const;

/** The steps of a research in short; what each one looked at is in the panel. */
export function ResearchPart({ research }: { research: Research }) {
  if (research.steps.length < 2) return null;
  return (
    <section className="research">
      <h2>Researched in {count(research.steps.length, "step")}</h2>
      <ol>
        {research.steps.map((step) => (
          <Step key={step.id} step={step} />
        ))}
      </ol>
      {research.stopped && <p className="soft">Ended because {research.stopped}.</p>}
    </section>
  );
}

function Step({ step }: { step: ResearchStep }) {
  const again = step.attempt > 1 ? ", tried again" : "";
  const things = step.claims.length > 0 ? `, ${count(step.claims.length, "finding")}` : "";
  const cut = step.cut > 0 ? `, ${count(step.cut, "sentence")} cut` : "";
  return (
    <li data-status={step.status}>
      {step.question}
      <small>
        {STATUS[step.status]}
        {again}
        {things}
        {cut}
      </small>
    </li>
  );
}
