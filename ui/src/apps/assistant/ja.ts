export { ja } from "./texts";
