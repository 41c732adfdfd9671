import { useSelect } from "../store";
import { Announcer } from "./Announcer";
import { AskBox } from "./AskBox";
import { Home } from "./Home";
import { Thread } from "./Thread";
import { Trouble } from "./Trouble";

export function Centre() {
  const run = useSelect((state) => state.run);
  const trouble = useSelect((state) => state.trouble);
  return (
    <main className="centre">
      <div className="page">
        {trouble && <Trouble problem={trouble} />}
        {!trouble && (run ? <Thread run={run} /> : <Home />)}
      </div>
      <AskBox />
      <Announcer />
    </main>
  );
}
