import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeBlocks, readPage, section } from './pages.ts';

/** A request to verify. Missing headers are empty strings. */
export type Request = { secret: string; id: string; timestamp: string; signature: string; body: Buffer };

/**
 * How to run the program under a heading of docs/verify-webhooks.md. `caller` calls it for every line of its input
 * (secret, ID, timestamp, signature, and base64 of the body, separated by tabs) and prints `accepted` or the error.
 */
export type Verifier = {
  heading: string;
  language: string;
  /** Prints a version if the language is installed. */
  probe: readonly string[];
  file: string;
  callerFile?: string;
  caller: string;
  moreFiles?: Record<string, string>;
  build?: readonly string[];
  run: readonly string[];
};

export const VERIFIERS: readonly Verifier[] = [
  {
    heading: 'Node and TypeScript',
    language: 'ts',
    probe: [process.execPath, '--version'],
    file: 'verify.ts',
    callerFile: 'main.ts',
    run: [process.execPath, 'main.ts'],
    caller: `
import { readFileSync } from 'node:fs';
import { verifyWebhook } from './verify.ts';
for (const line of readFileSync(0, 'utf8').trimEnd().split('\\n')) {
  const [secret, id, timestamp, signature, body] = line.split('\\t');
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  for (const name in headers) if (!headers[name]) delete headers[name];
  try {
    verifyWebhook(secret, headers, Buffer.from(body, 'base64')).type;
    console.log('accepted');
  } catch (error) {
    console.log(error.message);
  }
}`,
  },
  {
    heading: 'Python',
    language: 'python',
    probe: ['python3', '--version'],
    file: 'main.py',
    run: ['python3', 'main.py'],
    caller: `
import sys
for line in sys.stdin:
    secret, message_id, timestamp, signature, body = line.rstrip("\\n").split("\\t")
    headers = {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": signature}
    headers = {name: value for name, value in headers.items() if value}
    try:
        verify_webhook(secret, headers, base64.b64decode(body))["type"]
        print("accepted")
    except ValueError as error:
        print(error)`,
  },
  {
    heading: 'Go',
    language: 'go',
    probe: ['go', 'version'],
    file: 'webhooks/verify.go',
    callerFile: 'main.go',
    moreFiles: { 'go.mod': 'module check\n\ngo 1.19\n' },
    build: ['go', 'build', '-o', 'check', '.'],
    run: ['./check'],
    caller: `
package main

import (
	"bufio"
	"check/webhooks"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		parts := strings.Split(lines.Text(), "\\t")
		headers := http.Header{}
		for i, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			if parts[i+1] != "" {
				headers.Set(name, parts[i+1])
			}
		}
		body, _ := base64.StdEncoding.DecodeString(parts[4])
		if err := webhooks.Verify(parts[0], headers, body); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("accepted")
		}
	}
}`,
  },
  {
    heading: 'Ruby',
    language: 'ruby',
    probe: ['ruby', '--version'],
    file: 'main.rb',
    run: ['ruby', 'main.rb'],
    caller: `
STDIN.each_line(chomp: true) do |line|
  secret, id, timestamp, signature, body = line.split("\\t", -1)
  headers = { "webhook-id" => id, "webhook-timestamp" => timestamp, "webhook-signature" => signature }
  headers.delete_if { |_, value| value.empty? }
  verify_webhook(secret, headers, body.unpack1("m")).fetch("type")
  puts "accepted"
rescue InvalidWebhook => error
  puts error.message
end`,
  },
  {
    heading: 'PHP',
    language: 'php',
    probe: ['php', '--version'],
    file: 'main.php',
    run: ['php', '-d', 'display_errors=stderr', 'main.php'],
    caller: `
foreach (file('php://stdin', FILE_IGNORE_NEW_LINES) as $line) {
    [$secret, $id, $timestamp, $signature, $body] = explode("\\t", $line);
    $headers = ['webhook-id' => $id, 'webhook-timestamp' => $timestamp, 'webhook-signature' => $signature];
    try {
        verify_webhook($secret, array_filter($headers, fn ($value) => $value !== ''), base64_decode($body))['type'];
        echo "accepted\\n";
    } catch (UnexpectedValueException $error) {
        echo $error->getMessage(), "\\n";
    }
}`,
  },
  {
    heading: 'Java',
    language: 'java',
    probe: ['javac', '--version'],
    file: 'WebhookVerifier.java',
    callerFile: 'Main.java',
    build: ['javac', '-Xlint:all', '-Werror', 'Main.java', 'WebhookVerifier.java'],
    run: ['java', '-Xshare:auto', '-XX:TieredStopAtLevel=1', 'Main'],
    caller: `
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Scanner;

class Main {
    public static void main(String[] arguments) throws Exception {
        for (Scanner lines = new Scanner(System.in); lines.hasNextLine(); ) {
            String[] parts = lines.nextLine().split("\\t", -1);
            Map<String, String> headers = new HashMap<>();
            String[] names = {"webhook-id", "webhook-timestamp", "webhook-signature"};
            for (int i = 0; i < names.length; i++) {
                if (!parts[i + 1].isEmpty()) headers.put(names[i], parts[i + 1]);
            }
            try {
                WebhookVerifier.verify(parts[0], headers, Base64.getDecoder().decode(parts[4]));
                System.out.println("accepted");
            } catch (java.security.SignatureException error) {
                System.out.println(error.getMessage());
            }
        }
    }
}`,
  },
];

export function isInstalled({ probe: [command, ...options] }: Verifier): boolean {
  return spawnSync(command!, options).status === 0;
}

/** Writes the program from the page, with its caller, to a directory and builds it. */
export async function writeVerifier(verifier: Verifier, directory: string): Promise<void> {
  const { heading, language, file, callerFile, caller, moreFiles = {}, build } = verifier;
  const [code = ''] = codeBlocks(section(await readPage('docs/verify-webhooks.md'), `## ${heading}`), language);
  const files = {
    ...moreFiles,
    ...(callerFile ? { [file]: code, [callerFile]: caller } : { [file]: `${code}${caller}\n` }),
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(directory, path, '..'), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  if (build) execute(build, directory, '');
}

/** Returns the program's output for each request, in order: `accepted` or the error. */
export function runVerifier({ run }: Verifier, directory: string, requests: readonly Request[]): string[] {
  const lines = requests.map(({ secret, id, timestamp, signature, body }) =>
    [secret, id, timestamp, signature, body.toString('base64')].join('\t'),
  );
  return execute(run, directory, `${lines.join('\n')}\n`)
    .trimEnd()
    .split('\n');
}

function execute([command, ...options]: readonly string[], cwd: string, input: string): string {
  const { status, stdout, stderr, error } = spawnSync(command!, options, { cwd, input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`, { cause: error });
  return stdout;
}
