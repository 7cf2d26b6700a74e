-- Count what is in each of some parts of lists, as of one moment. KEYS: lists. ARGV: first, last …
local numbers = {}
for n = 1, #ARGV, 2 do
  numbers[#numbers + 1] = redis.call('ZLEXCOUNT', KEYS[1], ARGV[n], ARGV[n + 1])
end
return numbers
