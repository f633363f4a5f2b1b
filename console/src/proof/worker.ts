// Verifies files beside the page, which stays responsive meanwhile.
import { verifyExport } from "@watchbell/sdk/proof";
import type { Answer, Question } from "./verifier";

const answer = (said: Answer) => self.postMessage(said);

self.onmessage = async ({ data }: MessageEvent<Question>) => {
  const { file, options } = data;
  const began = performance.now();
  try {
    const onProgress = (bytes: number) => answer({ is: "progress", bytes });
    const report = await verifyExport(file, { ...options, onProgress });
    answer({ is: "report", report, tookMs: performance.now() - began });
  } catch (error) {
    answer({ is: "failed", message: error instanceof Error ? error.message : String(error) });
  }
};
