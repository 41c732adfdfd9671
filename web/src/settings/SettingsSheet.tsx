import { type ReactNode, useEffect, useId, useState } from "react";
import { attempt, changeSettings, rebuild } from "../actions";
import * as api from "../api";
import { Sheet } from "../parts/Sheet";
import { percent } from "../parts/words";
import { useSelect } from "../store";
import type { Settings } from "../types";
import { ModelSettings } from "./ModelSettings";
import { chooseTheme, THEMES, type Theme, theme } from "./theme";
import "./settings.css";

/** Wider than any window: settings always lie over the page. */
const ALWAYS = 100_000;

/** The few settings that matter to a person; the others are in a file (docs/settings.md). */
export function SettingsSheet() {
  const open = useSelect((state) => state.sheet === "settings");
  const settings = useSelect((state) => state.settings);
  return (
    <Sheet name="settings" upTo={ALWAYS} as="aside" label="Settings">
      <h2>Settings</h2>
      {open && settings && (
        <>
          <ModelSettings />
          <WebSetting settings={settings} />
          <RiskSetting settings={settings} />
          <LanguageSetting settings={settings} />
          <ThemeSetting />
        </>
      )}
    </Sheet>
  );
}

interface ChoiceProps<T> {
  title: string;
  options: readonly { value: T; label: string; about?: ReactNode; disabled?: boolean }[];
  chosen: T;
  /** Until it is done, what was picked is shown. */
  choose: (value: T) => Promise<unknown>;
  children?: ReactNode;
}

/** One of several, each with a word on what it means. */
export function Choice<T>({ title, options, chosen, choose, children }: ChoiceProps<T>) {
  const name = useId();
  const [picked, setPicked] = useState<{ value: T } | null>(null);
  const pick = async (value: T) => {
    setPicked({ value });
    await choose(value);
    setPicked(null);
  };
  return (
    <fieldset className="setting">
      <legend>{title}</legend>
      {children}
      {options.map(({ value, label, about, disabled }, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two servers may offer models of one name
        <div key={place} className="setting-option">
          <input
            id={`${name}-${place}`}
            type="radio"
            name={name}
            checked={value === (picked ? picked.value : chosen)}
            disabled={disabled}
            aria-describedby={about ? `${name}-${place}-about` : undefined}
            onChange={() => void pick(value)}
          />
          <label htmlFor={`${name}-${place}`}>{label}</label>
          {about && <small id={`${name}-${place}-about`}>{about}</small>}
        </div>
      ))}
    </fieldset>
  );
}

const WEB = [
  {
    value: false,
    label: "Your files alone",
    about: "No question leaves this machine for the web.",
  },
  {
    value: true,
    label: "The web too, where your files have too little",
    about: "A search engine then sees the question.",
  },
];

function WebSetting({ settings }: { settings: Settings }) {
  return (
    <Choice
      title="Where to look"
      options={WEB}
      chosen={settings.web_search}
      choose={(web) => changeSettings({ web_search: web })}
    />
  );
}

const CARE = [
  {
    value: null,
    label: "As usual",
    about: "Likely answers are given too, and marked as not sure.",
  },
  {
    value: 0.1,
    label: "Careful",
    about: "At most 1 answer in 10 wrong. What is less sure is withheld; you see the passages.",
  },
  {
    value: 0.05,
    label: "Very careful",
    about: "At most 1 answer in 20 wrong. More questions stay without an answer.",
  },
];

function RiskSetting({ settings: { max_risk } }: { settings: Settings }) {
  const own = {
    value: max_risk,
    label: "As it was set",
    about: `At most ${percent(max_risk ?? 0)} wrong.`,
  };
  const known = CARE.some(({ value }) => value === max_risk);
  return (
    <Choice
      title="How careful"
      options={known ? CARE : [...CARE, own]}
      chosen={max_risk}
      choose={(value) => changeSettings({ max_risk: value })}
    />
  );
}

const languageName = (name: string): string =>
  name === "none"
    ? "None: words as they are written"
    : name.charAt(0).toUpperCase() + name.slice(1);

function LanguageSetting({ settings }: { settings: Settings }) {
  const library = useSelect((state) => state.library);
  const reading = useSelect((state) => state.jobs.find((job) => job.status === "running"));
  const [own, setOwn] = useState<string | null>(null);
  const id = useId();
  // biome-ignore lint/correctness/useExhaustiveDependencies: read again when a job has ended
  useEffect(() => {
    void attempt(async () => {
      const found = (await api.libraries()).find(({ name }) => name === library);
      setOwn(found?.language ?? null);
    });
  }, [library, reading?.id]);
  const wanted = settings.language;
  return (
    <fieldset className="setting">
      <legend>Language of the library</legend>
      <label htmlFor={id} className="sr">
        Language
      </label>
      <select
        id={id}
        value={wanted}
        onChange={(event) => void changeSettings({ language: event.target.value })}
      >
        {settings.languages.map((name) => (
          <option key={name} value={name}>
            {languageName(name)}
          </option>
        ))}
      </select>
      {own && own !== wanted && (
        <p>
          {`Words of this library are still looked up in ${languageName(own)}. `}
          {reading ? (
            <span role="status">{`It is being read again: ${percent(reading.share)}.`}</span>
          ) : (
            <button type="button" className="link" onClick={() => void rebuild()}>
              {`Read it again in ${languageName(wanted)}`}
            </button>
          )}
        </p>
      )}
    </fieldset>
  );
}

const THEME_NAMES: Record<Theme, string> = {
  system: "As the system",
  light: "Light",
  dark: "Dark",
};

function ThemeSetting() {
  const [chosen, setChosen] = useState(theme);
  const choose = async (value: Theme) => {
    chooseTheme(value);
    setChosen(value);
  };
  const options = THEMES.map((value) => ({ value, label: THEME_NAMES[value] }));
  return (
    <Choice title="Theme, in this browser" options={options} chosen={chosen} choose={choose} />
  );
}
