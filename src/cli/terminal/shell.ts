/**
 * What a command gets from the shell that starts it. Commands take it from their options, never from the process, so
 * that one process can run several commands at the same time. `process` itself is a shell.
 */
export interface Shell {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: NodeJS.ProcessEnv;
  /** Set by a command that succeeds but has bad news, such as users that failed. */
  exitCode?: NodeJS.Process['exitCode'];
}
