/** The request that a Go program sends. `body` is the expression for its body, which `setup` prepares. */
export type GoRequest = {
  /** The packages that `setup` and `body` need. */
  imports: readonly string[];
  setup: readonly string[];
  method: string;
  url: string;
  body: string | undefined;
  headers?: Readonly<Record<string, string>>;
};

/** The lines that end a Go program after a failed call. */
export const GO_FAILURE = ['\tif err != nil {', '\t\tlog.Fatal(err)', '\t}'];

/** A Go program that sends a request as JSON and prints the response. Its token comes from the environment. */
export function goProgram({ imports, setup, method, url, body, headers = {} }: GoRequest): string {
  const packages = ['fmt', 'io', 'log', 'net/http', 'os', ...imports].sort();
  const constant = `http.Method${method[0]}${method.slice(1).toLowerCase()}`;
  const sent = { ...(body && { 'Content-Type': 'application/json' }), ...headers };
  return [
    'package main',
    '',
    'import (',
    ...packages.map((name) => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    ...setup,
    `\trequest, err := http.NewRequest(${constant}, ${JSON.stringify(url)}, ${body ?? 'nil'})`,
    ...GO_FAILURE,
    '\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("TOLLGATE_TOKEN"))',
    ...Object.entries(sent).map(([name, value]) => `\trequest.Header.Set("${name}", "${value}")`),
    '',
    '\tresponse, err := http.DefaultClient.Do(request)',
    ...GO_FAILURE,
    '\tdefer response.Body.Close()',
    '',
    '\tfmt.Println(response.Status)',
    '\tif _, err := io.Copy(os.Stdout, response.Body); err != nil {',
    '\t\tlog.Fatal(err)',
    '\t}',
    '}',
  ].join('\n');
}
