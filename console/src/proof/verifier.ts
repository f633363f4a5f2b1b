// Has a file verified by a worker, and knows how far that is.
import type { Report, VerifyExportOptions } from "@watchbell/sdk/proof";
import { useCallback, useEffect, useRef, useState } from "react";

export interface Question {
  file: File;
  options: Omit<VerifyExportOptions, "onProgress">;
}

export type Answer =
  | { is: "progress"; bytes: number }
  | { is: "report"; report: Report; tookMs: number }
  /** The verifier itself failed, which says nothing of the file. */
  | { is: "failed"; message: string };

export type State =
  | { is: "idle" }
  | { is: "running"; file: File; bytes: number }
  | { is: "done"; file: File; report: Report; tookMs: number }
  | { is: "failed"; file: File; message: string };

const start = () => new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });

export function useVerifier() {
  const [state, setState] = useState<State>({ is: "idle" });
  const worker = useRef<Worker>(null);
  // At once, so that all is loaded that is needed: by the time there is a file, the server may be away.
  useEffect(() => {
    worker.current = start();
    return () => worker.current?.terminate();
  }, []);

  const verify = useCallback((file: File, options: Question["options"]) => {
    const { current } = worker;
    if (current === null) return;
    setState({ is: "running", file, bytes: 0 });
    current.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.is === "progress") setState({ is: "running", file, bytes: data.bytes });
      else if (data.is === "report") setState({ ...data, is: "done", file });
      else setState({ ...data, file });
    };
    current.onerror = ({ message }) =>
      setState({ is: "failed", file, message: message || "The verifier could not be loaded." });
    current.postMessage({ file, options } satisfies Question);
  }, []);

  const cancel = useCallback(() => {
    worker.current?.terminate();
    worker.current = start();
    setState({ is: "idle" });
  }, []);
  return { state, verify, cancel };
}
