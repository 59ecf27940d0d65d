/** The form's values that buyers and their agents can read. The schemas and the example are JSON text. */
export type DiscoveryValues = { mimeType: string; inputSchema: string; exampleResponse: string; tags: string[] };

type Stored = {
  mimeType?: string | null | undefined;
  inputSchema?: unknown;
  exampleResponse?: unknown;
  tags: readonly string[];
};

export function discoveryValues(stored: Stored | undefined): DiscoveryValues {
  return {
    mimeType: stored?.mimeType ?? '',
    inputSchema: textOf(stored?.inputSchema),
    exampleResponse: textOf(stored?.exampleResponse),
    tags: [...(stored?.tags ?? [])],
  };
}

/** The form's values as the API expects them. */
export function discoveryInput({ mimeType, inputSchema, exampleResponse, tags }: DiscoveryValues) {
  return {
    mimeType: mimeType.trim() || null,
    inputSchema: parsed(inputSchema),
    exampleResponse: parsed(exampleResponse),
    tags,
  };
}

/** Checks only that the text is JSON. The service checks its contents. */
export function checkJson(text: string): string | null {
  try {
    parsed(text);
    return null;
  } catch {
    return 'Invalid JSON.';
  }
}

const textOf = (value: unknown) => (value === null || value === undefined ? '' : JSON.stringify(value, null, 2));
const parsed = (text: string): unknown => (text.trim() === '' ? null : JSON.parse(text));
