/** The types of an OpenAPI 3.1 document. */
import type { JsonSchema } from "./specification.ts";

/** A parameter of the path or the query. */
export interface OpenApiParameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly schema: JsonSchema;
}

export interface OpenApiContent {
  readonly "application/json": { readonly schema: JsonSchema };
}

/** One route in the document. */
export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  /** Fields, parameters and values that the sandbox refuses with 501. */
  readonly "x-not-played"?: readonly string[];
  readonly tags: readonly string[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly OpenApiParameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: OpenApiContent };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: OpenApiContent }>>;
}

/** The part of an OpenAPI 3.1 document that the sandbox uses. */
export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly securitySchemes: Readonly<Record<string, unknown>> };
}
