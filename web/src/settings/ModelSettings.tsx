import { type FormEvent, useCallback, useEffect, useState } from "react";
import { attempt, changeSettings } from "../actions";
import * as api from "../api";
import { modelName } from "../centre/telling";
import { bytes, hintSentence, percent, sentence } from "../parts/words";
import type { Fetch, KnownModel, Models, UsableModel } from "../types";
import { Choice } from "./SettingsSheet";

/** Which model answers, and getting one. What there is takes the server a moment to find. */
export function ModelSettings() {
  const [models, setModels] = useState<Models | null>(null);
  const [address, setAddress] = useState<string | null>(null);
  const look = useCallback(async (at: string | null) => {
    const found = await attempt(async () => setModels(await api.models(at)));
    if (found) setAddress(at);
  }, []);
  useEffect(() => void look(null), [look]);
  if (models === null) {
    return (
      <p className="setting" role="status">
        Looking for models on this machine…
      </p>
    );
  }
  const choose = async (one: UsableModel | null) => {
    const model = one?.name ?? "none";
    if (await changeSettings({ model, ...(one?.address && { address: one.address }) })) {
      await look(address);
    }
  };
  const chosen = models.usable.find((one) => one.chosen) ?? null;
  const listed = models.usable.map((one) => ({
    value: one,
    label: modelName(one.name),
    about: <About model={one} />,
    disabled: one.fix !== null && !one.chosen,
  }));
  const none = { value: null, label: "No model", about: "Answers are quoted from your files." };
  return (
    <>
      <Choice title="Model" options={[none, ...listed]} chosen={chosen} choose={choose}>
        <p>A model can put answers in its own words, compare, plan and compute. Each is checked.</p>
      </Choice>
      <Elsewhere look={look} />
      <section className="setting" aria-labelledby="get-model">
        <h3 id="get-model">Get a small model</h3>
        <ul>
          {models.known.map((one) => (
            <Known key={one.name} model={one} arrived={() => void look(address)} />
          ))}
        </ul>
      </section>
      <Roles models={models} />
    </>
  );
}

function About({ model: { about, size, fix } }: { model: UsableModel }) {
  return (
    <>
      {[about, size && bytes(size)].filter(Boolean).join(", ")}
      {fix && <b className="fix">{`Not set up: ${fix}`}</b>}
    </>
  );
}

/** Ollama, another server of this machine, and hosted models. */
function Elsewhere({ look }: { look: (address: string | null) => Promise<void> }) {
  const [typed, setTyped] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void look(typed.trim() || null);
  };
  return (
    <details className="setting">
      <summary>Other models</summary>
      <p>
        Models of Ollama are listed once it runs. Hosted ones are listed once you keep a key, in a
        terminal: <code>secondlook models key openai</code>
      </p>
      <form onSubmit={submit}>
        <label htmlFor="model-address">Address of another server on this machine</label>
        <span className="row">
          <input
            id="model-address"
            type="url"
            placeholder="http://127.0.0.1:1234/v1"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <button type="submit" className="pill">
            Look
          </button>
        </span>
      </form>
    </details>
  );
}

const isGoingOn = (fetch: Fetch | null): boolean =>
  ["running", "checking", "stopping"].includes(fetch?.status ?? "");

/** One of the short list: got with a bar that shows how far it is, stopped, and gone on with. */
function Known({ model, arrived }: { model: KnownModel; arrived: () => void }) {
  const [fetch, setFetch] = useState(model.fetch);
  const goingOn = isGoingOn(fetch);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `arrived` is made anew each time
  useEffect(() => {
    if (!goingOn) return;
    const timer = setInterval(async () => {
      const now = await api.fetchOf(model.name).catch(() => null); // asked again a moment later
      if (now === null) return;
      setFetch(now);
      if (now.status === "done") arrived();
    }, 500);
    return () => clearInterval(timer);
  }, [goingOn, model.name]);
  const get = () => void attempt(async () => setFetch(await api.fetchModel(model.name)));
  const stop = () => void attempt(async () => setFetch(await api.stopFetch(model.name)));
  const share = fetch?.size ? fetch.done / fetch.size : 0;
  return (
    <li className="known">
      <span>
        {model.name}
        <small>{`${sentence(model.about)} ${model.gigabytes} GB to fetch, takes ${model.memory} GB of memory, ${model.licence}.`}</small>
      </span>
      {goingOn ? (
        <button
          type="button"
          className="pill"
          disabled={fetch?.status === "stopping"}
          onClick={stop}
        >
          Stop<span className="sr">{` fetching ${model.name}`}</span>
        </button>
      ) : (
        <button type="button" className="pill" disabled={fetch?.status === "done"} onClick={get}>
          {wordOf(fetch)}
          <span className="sr">{` ${model.name}`}</span>
        </button>
      )}
      {fetch && fetch.size > 0 && fetch.status !== "done" && (
        <progress aria-label={`${model.name}, fetched`} max={1} value={share}>
          {percent(share)}
        </progress>
      )}
      {goingOn && <small>{fetch && stateOf(fetch, share)}</small>}
      <small role="status">{fetch && !goingOn && stateOf(fetch, share)}</small>
    </li>
  );
}

const wordOf = (fetch: Fetch | null): string =>
  ({ done: "Here", stopped: "Go on", failed: "Try again" })[fetch?.status as string] ?? "Get";

function stateOf(fetch: Fetch, share: number): string {
  switch (fetch.status) {
    case "running":
      return fetch.size ? `${percent(share)} of ${bytes(fetch.size)}` : "Asking for it…";
    case "checking":
      return "Checking that it is whole…";
    case "stopping":
      return "Stopping…";
    case "done":
      return "It is here: choose it above.";
    case "stopped":
      return `Stopped at ${percent(share)}; what came is kept.`;
    case "failed":
      return [fetch.error, fetch.hint].map((said) => hintSentence(said ?? "")).join(" ");
  }
}

function Roles({ models }: { models: Models }) {
  return (
    <details className="setting">
      <summary>Who does what</summary>
      <table>
        <tbody>
          {models.roles.map(({ role, workflow, model }) => (
            <tr key={`${workflow}.${role}`}>
              <th scope="row">{sentence(workflow ? `${workflow}: ${role}` : role).slice(0, -1)}</th>
              <td>{model === "none" ? "without a model" : modelName(model)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
