/** Compiles the sandbox's contracts. The result is committed, so the sandbox runs without a compiler. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import solc from 'solc';

const SANDBOX = join(import.meta.dirname, '..', 'src', 'sandbox');
/** Contracts by the file that they are in. */
const CONTRACTS = {
  LocalUsdc: 'LocalUsdc.sol',
  LocalMulticall: 'LocalMulticall.sol',
  LocalSmartWalletFactory: 'LocalSmartWallet.sol',
};

type Output = {
  errors?: { severity: string; formattedMessage: string }[];
  contracts?: Record<string, Record<string, { evm: { deployedBytecode: { object: string } } }>>;
};

const sources = Object.fromEntries(
  await Promise.all(
    Object.values(CONTRACTS).map(async (file) => [file, { content: await readFile(join(SANDBOX, file), 'utf8') }]),
  ),
);
const input = {
  language: 'Solidity',
  sources,
  settings: {
    optimizer: { enabled: true, runs: 200 },
    viaIR: true,
    evmVersion: 'cancun',
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { '*': ['evm.deployedBytecode.object'] } },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input))) as Output;
const problems = (output.errors ?? []).filter(({ severity }) => severity === 'error');
if (problems.length > 0) throw new Error(problems.map(({ formattedMessage }) => formattedMessage).join('\n'));

const runtimeCode = Object.fromEntries(
  Object.entries(CONTRACTS).map(([name, file]) => [
    name,
    `0x${output.contracts![file]![name]!.evm.deployedBytecode.object}`,
  ]),
);
const compiled = { compiler: `solc ${solc.version()}`, runtimeCode };
await writeFile(join(SANDBOX, 'contracts.json'), `${JSON.stringify(compiled, null, 2)}\n`);
for (const [name, code] of Object.entries(runtimeCode)) process.stdout.write(`${name}: ${code.length / 2 - 1} bytes\n`);
