// Downloads a small export as a file.
import { problemOf } from "../api/problem";
import { save } from "../parts/save";
import type { Filter } from "./filter";

export const FORMATS = ["ndjson", "csv", "json", "parquet", "bundle"] as const;
export type Format = (typeof FORMATS)[number];
export type Compression = "none" | "gzip" | "zstd";

export interface ExportRequest {
  filter: Filter;
  format: Format;
  compression: Compression;
}

/** What each format can be compressed with; Parquet compresses inside, and browsers verify nothing in Zstandard. */
export function compressionsOf(format: Format): Compression[] {
  if (format === "bundle") return ["none", "gzip"];
  return format === "parquet" ? ["zstd", "none"] : ["none", "gzip", "zstd"];
}

/**
 * Fetches an export and saves it. `onBytes` hears how much has come. A file that is cut off ends with an error,
 * because the connection does.
 */
export async function download(
  wanted: ExportRequest,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const { filter, format, compression } = wanted;
  const response = await fetch("/v1/audit/export", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...filter, format, compression }),
    signal,
  });
  if (!response.ok || response.body === null) throw await problemOf(response);
  const parts: BlobPart[] = [];
  let bytes = 0;
  const reader = response.body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    parts.push(read.value);
    bytes += read.value.length;
    onBytes(bytes);
  }
  const name = nameIn(response.headers.get("Content-Disposition")) ?? `audit-events.${format}`;
  save(new Blob(parts), name);
  return name;
}

/** The name that the server gives a file. */
function nameIn(disposition: string | null): string | undefined {
  return /filename="?([^";]+)"?/.exec(disposition ?? "")?.[1];
}
