/**
 * The part of Grafana's classic dashboard model that is written here.
 *
 * @see @grafana/schema 13.2.3, raw/dashboard (read 2026-11-22), against which the result was type-checked
 */
export interface GrafanaDashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly schemaVersion: number;
  readonly editable: boolean;
  readonly graphTooltip: number;
  readonly timezone: string;
  readonly refresh: string;
  readonly time: { readonly from: string; readonly to: string };
  readonly templating: { readonly list: readonly GrafanaVariable[] };
  readonly annotations: { readonly list: readonly never[] };
  readonly links: readonly never[];
  readonly panels: readonly GrafanaPanel[];
}

/** The one data source of everything: whichever Prometheus is chosen. */
export interface GrafanaDataSource {
  readonly type: "prometheus";
  readonly uid: string;
}

/** Something to choose above the panels. */
export interface GrafanaVariable {
  readonly name: string;
  readonly label: string;
  readonly type: "datasource" | "query";
  readonly query: string;
  readonly datasource?: GrafanaDataSource;
  /** 2: asked again when the time range changes. */
  readonly refresh: number;
  /** 1: by alphabet. */
  readonly sort?: number;
  readonly multi?: boolean;
  readonly includeAll?: boolean;
  /** What `All` stands for in a query. */
  readonly allValue?: string;
  readonly current: { readonly text: string; readonly value: string };
  readonly options: readonly never[];
  readonly hide: number;
}

/** Where on a grid of 24 columns. */
export interface GridPosition {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** A panel, or a row that heads those below it. */
export interface GrafanaPanel {
  readonly id: number;
  readonly type: "row" | "stat" | "timeseries" | "heatmap" | "table" | "bargauge";
  readonly title: string;
  readonly gridPos: GridPosition;
  readonly description?: string;
  readonly collapsed?: boolean;
  readonly panels?: readonly never[];
  readonly datasource?: GrafanaDataSource;
  readonly targets?: readonly GrafanaTarget[];
  readonly fieldConfig?: {
    readonly defaults: Readonly<Record<string, unknown>>;
    readonly overrides: readonly GrafanaOverride[];
  };
  readonly options?: Readonly<Record<string, unknown>>;
  readonly transformations?: readonly { readonly id: string; readonly options: Readonly<Record<string, unknown>> }[];
}

/** What differs for one series. */
export interface GrafanaOverride {
  readonly matcher: { readonly id: "byName"; readonly options: string };
  readonly properties: readonly { readonly id: "color"; readonly value: Readonly<Record<string, string>> }[];
}

/** One query of a panel. */
export interface GrafanaTarget {
  readonly refId: string;
  readonly datasource: GrafanaDataSource;
  readonly expr: string;
  readonly legendFormat: string;
  readonly format: "time_series" | "heatmap" | "table";
  /** Exactly one of both: over the time range, or now. */
  readonly range: boolean;
  readonly instant: boolean;
  readonly exemplar: boolean;
  readonly editorMode: "code";
}
