import { limitTo } from "../actions";
import { useSelect } from "../store";

/** The documents that the next question is limited to; each can be taken off again. */
export function Limits() {
  const limitedTo = useSelect((state) => state.limitedTo);
  const documents = useSelect((state) => state.documents);
  if (limitedTo.length === 0) return null;
  const title = (id: string) => documents?.find((one) => one.id === id)?.title ?? id;
  return (
    <section className="limits" aria-label="Only in these documents">
      <span>Only in</span>
      <ul>
        {limitedTo.map((id) => (
          <li key={id}>
            <button
              type="button"
              className="pill"
              aria-label={`Search outside ${title(id)} too`}
              onClick={() => limitTo(limitedTo.filter((other) => other !== id))}
            >
              <span>{title(id)}</span>
              <span aria-hidden="true">×</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
