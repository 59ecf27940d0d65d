/** Returns a function that creates a resource through the REST API with this token, and returns its ID. */
export function creator(url: string, token: string) {
  return async (path: string, body: unknown): Promise<string> => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { id: string }).id;
  };
}
