import { useEffect } from "react";
import { closeSource } from "./actions";
import { Centre } from "./centre/Centre";
import { TokenForm } from "./centre/TokenForm";
import { Library } from "./library/Library";
import { Panel } from "./panel/Panel";
import { DropAnywhere } from "./parts/DropAnywhere";
import { Kept } from "./parts/Kept";
import { Notice } from "./parts/Notice";
import { TopBar } from "./parts/TopBar";
import { SettingsSheet } from "./settings/SettingsSheet";
import { dispatch, getState, useSelect } from "./store";

/** Escape closes what lies on top: the sheet first, then the source. */
function closeTopmost(event: KeyboardEvent): void {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  const { sheet, source, table } = getState();
  if ((source || table) && sheet !== "settings") closeSource();
  if (sheet) dispatch({ type: "sheet", sheet: null });
}

export function App() {
  const tokenWanted = useSelect((state) => state.tokenWanted);
  const sheet = useSelect((state) => state.sheet);
  useEffect(() => {
    window.addEventListener("keydown", closeTopmost);
    return () => window.removeEventListener("keydown", closeTopmost);
  }, []);
  if (tokenWanted) return <TokenForm />;
  return (
    <div className="app" data-sheet={sheet ?? undefined}>
      <button type="button" className="skip" onClick={focusAskBox}>
        Skip to the question box
      </button>
      <Kept name="The library">
        <Library />
      </Kept>
      <div className="middle">
        <TopBar />
        <Kept name="This answer">
          <Centre />
        </Kept>
      </div>
      <Kept name="How the answer was made">
        <Panel />
      </Kept>
      <SettingsSheet />
      <DropAnywhere />
      <Notice />
    </div>
  );
}

function focusAskBox(): void {
  document.getElementById("ask-box")?.focus();
}
