/** Faults of the network between one process and one server. */
import { type Fault, lineFault } from './fault.ts';

/** All connections are reset; new ones work. */
export const cutLine: Fault = lineFault(
  0,
  0,
  (line) => line.cut(),
  () => {},
);

/** All connections are reset, and new ones are too. */
export const shutLine: Fault = lineFault(
  500,
  4000,
  (line) => line.shut(),
  (line) => line.heal(),
);

/** No packet passes and no connection closes; at the end, the silent connections are reset. */
export const silenceLine: Fault = lineFault(
  500,
  6000,
  (line) => line.silence(),
  (line) => {
    line.heal();
    line.cutSilent();
  },
);

/** The same, but the silent connections stay half-open: the process has to notice by itself. */
export const halfOpenLine: Fault = lineFault(
  500,
  3000,
  (line) => line.silence(),
  (line) => line.heal(),
);

const DELAY_MS = 60;

/** New connections answer later. */
export const slowLine: Fault = lineFault(
  1000,
  5000,
  (line) => {
    line.delay(DELAY_MS);
    line.cut();
  },
  (line) => line.heal(),
);
