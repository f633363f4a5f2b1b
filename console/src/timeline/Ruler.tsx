// The axis above a timeline, with round times from its start.
import { type Extent, lengthOf, ticksOf } from "./model";
import classes from "./Timeline.module.css";

export function Ruler({ axis }: { axis: Extent }) {
  const width = axis.to - axis.from;
  return (
    <div className={classes.ruler} aria-hidden>
      <span className={classes.row}>
        <span className={classes.name}>Step</span>
        <span className={`${classes.track} ${classes.ticks}`}>
          {ticksOf(axis).map((at) => (
            <span key={at} className={classes.tick} style={{ left: `${(100 * at) / width}%` }}>
              {/* The last one would stand beyond the edge. */}
              {at / width < 0.95 && (at === 0 ? "0" : `+${lengthOf(at)}`)}
            </span>
          ))}
        </span>
        <span className={classes.took}>Duration</span>
      </span>
    </div>
  );
}
