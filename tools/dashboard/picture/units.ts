/** A value in one of the units the dashboard uses, about as Grafana writes it. */
export function formatValue(value: number, unit: string): string {
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "";
  switch (unit) {
    case "s":
      return formatSeconds(value);
    case "bytes":
      return `${round(value / 2 ** 20)} MiB`;
    case "percentunit":
      return `${round(value * 100)} %`;
    case "reqps":
      return `${round(value)} req/s`;
    case "ops":
      return `${round(value)} /s`;
    case "opm":
      return `${round(value)} /min`;
    default:
      return round(value);
  }
}

function formatSeconds(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds < 1) return `${round(seconds * 1_000)} ms`;
  return seconds < 120 ? `${round(seconds)} s` : `${round(seconds / 60)} min`;
}

/** Three digits that count. */
function round(value: number): string {
  return String(Number(value.toPrecision(3)));
}
