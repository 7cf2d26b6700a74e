export { zh } from "./texts";
