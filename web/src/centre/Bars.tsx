import { alike, type Bar } from "./telling";

/** Bars from zero with their names and numbers: a list for who cannot see them. */
export function Bars({ bars }: { bars: Bar[] }) {
  const values = bars.map(({ value }) => value);
  const most = Math.max(...values) || 1;
  const written = alike(values);
  return (
    <ul className="bars" data-testid="bars">
      {bars.map(({ name, value }, place) => (
        <li key={name}>
          <span className="bar-name">{name}</span>
          <i aria-hidden="true">
            <b style={{ width: `${(100 * value) / most}%` }} />
          </i>
          <span className="bar-value">{written[place]}</span>
        </li>
      ))}
    </ul>
  );
}
