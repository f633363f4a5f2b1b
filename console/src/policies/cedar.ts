// How Cedar, its schemas and JSON are colored: words, texts, numbers, comments and annotations. It does not parse them.
import type { StreamParser, StringStream } from "@codemirror/language";

export type Language = "cedar" | "schema" | "json";

const WORDS: Record<Language, { keywords: string; atoms: string }> = {
  cedar: {
    keywords: "permit forbid when unless if then else in is has like",
    atoms: "true false principal action resource context",
  },
  schema: {
    keywords: "namespace entity action type in appliesTo attributes tags enum",
    atoms: "principal resource context Long String Bool Boolean Set Record datetime duration decimal ipaddr",
  },
  json: { keywords: "", atoms: "true false null" },
};

/** What a language is made of, by the names that highlighting has for it. */
export function parserOf(language: Language): StreamParser<unknown> {
  const keywords = new Set(WORDS[language].keywords.split(" "));
  const atoms = new Set(WORDS[language].atoms.split(" "));
  return {
    name: language,
    token(stream) {
      if (stream.eatSpace()) return null;
      if (language !== "json" && stream.match("//")) {
        stream.skipToEnd();
        return "comment";
      }
      if (stream.peek() === '"') return text(stream, language);
      if (stream.match(/^-?\d+(\.\d+)?([eE][-+]?\d+)?/)) return "number";
      if (stream.match(/^@[A-Za-z_]\w*/)) return "meta";
      const word = stream.match(/^[A-Za-z_]\w*/);
      if (Array.isArray(word)) {
        if (keywords.has(word[0])) return "keyword";
        if (atoms.has(word[0])) return "atom";
        return stream.match("::", false) ? "typeName" : "variableName";
      }
      if (stream.match(/^(::|&&|\|\||[=!<>]=|[-+*<>!])/)) return "operator";
      stream.next();
      return null;
    },
    languageData: { commentTokens: language === "json" ? undefined : { line: "//" } },
  };
}

/** A text in quotation marks; of JSON, one before a colon is a name. */
function text(stream: StringStream, language: Language): string {
  stream.match(/^"([^"\\]|\\.)*"?/);
  return language === "json" && stream.match(/^\s*:/, false) ? "propertyName" : "string";
}
