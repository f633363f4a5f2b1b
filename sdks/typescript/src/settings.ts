// What the environment says where there is one; browsers and workers have none.

/** An empty value is one that was forgotten. */
function variable(name: string): string | undefined {
  return globalThis.process?.env?.[name] || undefined;
}

export const serverUrl = () => variable("WATCHBELL_URL");
export const apiKey = () => variable("WATCHBELL_API_KEY");
export const signingSecret = () => variable("WATCHBELL_SIGNING_SECRET");
