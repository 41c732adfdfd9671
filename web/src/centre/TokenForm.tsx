import { type FormEvent, useState } from "react";
import { giveToken } from "../actions";
import { Brand } from "../parts/Brand";

/** Shown in place of everything where the server wants its token first. */
export function TokenForm() {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const problem = await giveToken(token.trim());
    setWrong(problem && (problem.status === 401 ? "That is not the token." : problem.message));
  };
  return (
    <main className="token">
      <Brand />
      <form onSubmit={(event) => void submit(event)}>
        <h1>This server asks for its token</h1>
        <p id="token-help">
          It was printed in the terminal when <code>secondlook serve</code> started.
        </p>
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          // biome-ignore lint/a11y/noAutofocus: it is the only thing on the page
          autoFocus
          required
          value={token}
          aria-describedby="token-help"
          aria-invalid={wrong !== null}
          onChange={(event) => setToken(event.target.value)}
        />
        <p role="alert" className="wrong">
          {wrong}
        </p>
        <button type="submit" className="go">
          Sign in
        </button>
      </form>
    </main>
  );
}
