import { dispatch, useSelect } from "../store";

/** What must be said once and belongs to no other place: a refused upload, a copied answer. */
export function Notice() {
  const notice = useSelect((state) => state.notice);
  return (
    <div className="notice-place" role="status">
      {notice && (
        <div className="notice" data-bad={notice.bad || undefined}>
          <span>{notice.text}</span>
          <button
            type="button"
            className="quiet"
            onClick={() => dispatch({ type: "notice", notice: null })}
          >
            Close
          </button>
        </div>
      )}
    </div>
  );
}
