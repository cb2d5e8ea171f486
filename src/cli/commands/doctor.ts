import { type Finding, ok, problem } from '../../contract/finding.ts';
import { command } from '../command.ts';
import { checkService, conclude, show } from '../doctor/doctor.ts';
import { ofTheServer } from '../service/server-part.ts';
import { ownVersion } from '../service/settings.ts';
import type { Shell } from '../terminal/completion.ts';
import { EXIT } from '../terminal/failure.ts';

/** `muster doctor`: finds problems and says what to do about them. */
export const doctor = command({
  usage: 'doctor',
  describe: 'check the service for problems, and say what to do',
  options: {
    local: { type: 'boolean', describe: "on the server's machine: check the settings in the environment instead" },
  },
  examples: [
    ['$0 doctor', 'the service, its stores, queue, mail, and your login'],
    ['$0 doctor --local', 'before the first start, with DATABASE_URL and other settings set'],
    [
      '$0 doctor --json | jq -r \'.findings[] | select(.state == "problem").advice\'',
      'for scripts: what to do about each problem',
    ],
  ],
  async run(session, { local, shell }) {
    const version = ownVersion();
    const findings: Finding[] = [];
    const tell = (finding: Finding) => {
      findings.push(finding);
      show(session.out, finding);
    };
    tell(checkNode(version));
    const checks = local ? await checkMachineHere(shell.env) : checkService(session, version);
    for await (const finding of checks) tell(finding);
    if (conclude(session.out, findings) > 0) shell.exitCode = EXIT.failed;
  },
});

/** Loaded only when needed, as it imports the service's settings: commands should start fast. */
async function checkMachineHere(env: Shell['env']): Promise<AsyncIterable<Finding>> {
  return (await ofTheServer(import('../doctor/local.ts'))).checkMachine(env);
}

const OLDEST_NODE = 22;

function checkNode(version: string): Finding {
  const message = `muster ${version} on Node.js ${process.versions.node}`;
  if (Number.parseInt(process.versions.node, 10) >= OLDEST_NODE) return ok('this command', message);
  return problem('this command', message, `It needs Node.js ${OLDEST_NODE} or newer.`);
}
